/* Records what a driver without locality domains, which CUDA 13.4 added, returns where it is given
 * their numbers. They stand here as numbers: older headers have no names for them. */
#include "probe.h"

enum {
    LOCALITY_DOMAIN_ID = 15,     /* cudaMemPoolAttrLocalityDomainId */
    LOCALITY_DOMAIN = 6,         /* cudaMemLocationTypeDeviceLocalityDomain */
    LOCALITY_DOMAIN_COUNT = 149, /* cudaDevAttrLocalityDomainCount */
    OF_NO_HEADER = 99
};

static cudaMemPool_t pool;

static void attributes(void)
{
    static const int attributes[] = {LOCALITY_DOMAIN_ID, OF_NO_HEADER};
    for (int i = 0; i < 2; i++) {
        enum cudaMemPoolAttr attribute = (enum cudaMemPoolAttr)attributes[i];
        uint64_t v = 0;
        NOTE("attribute %d", attributes[i]);
        RECORD(cudaMemPoolGetAttribute(pool, attribute, &v));
        RECORD(cudaMemPoolSetAttribute(pool, attribute, &v));
    }
}

int main(void)
{
    int count = -1;
    set_up_process();
    cudaDeviceGetDefaultMemPool(&pool, 0);
    RECORD(cudaDeviceGetAttribute(&count, (enum cudaDeviceAttr)LOCALITY_DOMAIN_COUNT, 0));
    NOTE("count %d", count);
    attributes();

    static const int types[] = {LOCALITY_DOMAIN, OF_NO_HEADER};
    for (int i = 0; i < 2; i++) {
        struct cudaMemPoolProps props = pool_props(PINNED, types[i], 0);
        struct cudaMemAccessDesc desc = {.location = props.location,
                                         .flags = cudaMemAccessFlagsProtReadWrite};
        enum cudaMemAccessFlags flags;
        cudaMemPool_t p;
        NOTE("location type %d", types[i]);
        RECORD(cudaMemPoolCreate(&p, &props));
        RECORD(cudaMemPoolSetAccess(pool, &desc, 1));
        RECORD(cudaMemPoolGetAccess(&flags, pool, &desc.location));
        RECORD(cudaMemGetDefaultMemPool(&p, &desc.location, cudaMemAllocationTypePinned));
        RECORD(cudaMemGetMemPool(&p, &desc.location, cudaMemAllocationTypePinned));
    }

    return 0;
}
