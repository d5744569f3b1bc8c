/* The driver API's modules, libraries, and links; kernels by name; and their launches. A module or
 * a library is a loaded binary of module/registry.h. A kernel's handle is used in place of the host
 * function that nvcc registers for a kernel. */
#include <stdio.h>
#include <string.h>

#include "driver_module_calls.inc"
#include "graph_calls.inc"
#include "launch_calls.inc"
#include "api/launches.h"
#include "base/handle.h"
#include "base/hazards.h"
#include "mem/device.h"
#include "module/fat_binary.h"
#include "os/os.h"
#include "run/device_variable.h"
#include "run/nvcc_kernel.h"

/* ---- modules and libraries ---- */

/* Stores a text in the buffer of an option, and the number of bytes that it took (documented). */
static void fill_log(unsigned count, const CUjit_option *options, void **values,
                     CUjit_option buffer, CUjit_option size, const char *text)
{
    char *to = NULL;
    size_t room = 0, at = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == buffer)
            to = values[i];
        if (options[i] == size) {
            room = (size_t)(unsigned)(uintptr_t)values[i];
            at = i;
        }
    }
    if (!to || !room)
        return;
    int length = snprintf(to, room, "%s", text);
    values[at] = (void *)(uintptr_t)((size_t)length < room ? (size_t)length : room - 1);
}

static cudaError_t refuse_image(const struct call *call, const void *image, const char *why)
{
    cudaError_t e = fat_binary_error(image);
    diag("%s: the image cannot run here: %s. It returns %s.", call->origin.call, why,
         driver_error_name(e));
    if (e == cudaErrorNoKernelImageForDevice)
        hazards_gave_up("%s could not load an image", call->origin.call);
    return e;
}

cudaError_t driver_load(const struct call *call, void **handle, const void *image, int device,
                        unsigned count, const CUjit_option *options, void **values)
{
    const char *why;
    if (!handle || !image || (count && (!options || !values)))
        return cudaErrorInvalidValue;
    struct binary *binary = registry_load(image, device, &why);
    fill_log(count, options, values, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
    fill_log(count, options, values, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
             binary ? "" : why);
    if (!binary)
        return refuse_image(call, image, why);
    binary->handle = *handle = handle_new(HANDLE_MODULE, binary);
    return cudaSuccess;
}

cudaError_t do_cuModuleUnload(struct call *call, CUmodule handle)
{
    struct binary *binary = handle_object(HANDLE_MODULE, handle);
    /* Assumed: the program's own code cannot be unloaded. */
    if (!binary || binary->wrapper)
        return cudaErrorInvalidResourceHandle;
    registry_unload(binary);
    device_variables_end(call, binary->modules);
    handle_retire(HANDLE_MODULE, handle);
    return cudaSuccess;
}

/* Returns the contents of a file with a NUL after them, which the caller owns, or NULL. */
static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    char *text = NULL;
    size_t capacity = 1 << 16, got;
    if (!file)
        return NULL;
    *bytes = 0;
    do {
        capacity *= 2;
        text = os_grow(text, capacity);
        got = fread(text + *bytes, 1, capacity - *bytes - 1, file);
        *bytes += got;
    } while (got);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

cudaError_t do_cuModuleLoad(struct call *call, CUmodule *module, const char *path)
{
    size_t bytes;
    if (!module || !path || !*path)
        return cudaErrorInvalidValue;
    char *image = read_file(path, &bytes);
    if (!image)
        return cudaErrorFileNotFound;
    cudaError_t e = driver_load(call, (void **)module, image, device_current(), 0, NULL, NULL);
    os_free(image);
    return e;
}

/* ---- what a module has ---- */

cudaError_t do_cuModuleGetFunction(struct call *call, CUfunction *function, CUmodule module,
                                   const char *name)
{
    line_text(&call->line, "kernel", name ? name : "");
    struct binary *binary = handle_object(HANDLE_MODULE, module);
    if (!binary)
        return cudaErrorInvalidResourceHandle;
    if (!function || !name || !*name)
        return cudaErrorInvalidValue;
    struct registered_kernel *k = registry_kernel_of(binary, name);
    if (!k)
        return cudaErrorSymbolNotFound;
    *function = (CUfunction)k;
    return cudaSuccess;
}

/* Documented: either answer may be left out. */
cudaError_t do_cuModuleGetGlobal_v2(struct call *call, CUdeviceptr *address, size_t *bytes,
                                    CUmodule module, const char *name)
{
    struct binary *binary = handle_object(HANDLE_MODULE, module);
    if (!binary)
        return cudaErrorInvalidResourceHandle;
    if (!name || !*name || (!address && !bytes))
        return cudaErrorInvalidValue;
    struct variable *v = module_variable(binary->modules, name);
    /* Measured (probe-more-answers.txt, "images"): the error of a kernel's name is another one. */
    if (!v || (v->space != SPACE_GLOBAL && v->space != SPACE_CONST))
        return registry_kernel_of(binary, name) ? cudaErrorInvalidValue : cudaErrorSymbolNotFound;
    int device = binary->device == NO_DEVICE ? device_current() : binary->device;
    if (address)
        *address = device_variable_address(v, device);
    if (bytes)
        *bytes = v->bytes;
    return cudaSuccess;
}

cudaError_t do_cuModuleGetFunctionCount(struct call *call, unsigned *count, CUmodule module)
{
    const struct binary *binary = handle_object(HANDLE_MODULE, module);
    if (!binary)
        return cudaErrorInvalidResourceHandle;
    if (!count)
        return cudaErrorInvalidValue;
    *count = 0;
    for (const struct module *m = binary->modules; m; m = m->next)
        for (size_t i = 0; i < m->function_count; i++)
            *count += m->functions[i].is_entry;
    return cudaSuccess;
}

/* ---- links ---- */

/* The texts from which cuLinkComplete makes one image. */
struct link {
    char **texts;
    size_t count;
    void *image;
};

static void add_text(void *context, char *text)
{
    struct link *l = context;
    *OS_ADD(l->texts, l->count) = text;
}

cudaError_t do_cuLinkCreate_v2(struct call *call, unsigned int count, CUjit_option *options,
                               void **values, CUlinkState *state)
{
    if (!state || (count && (!options || !values)))
        return cudaErrorInvalidValue;
    fill_log(count, options, values, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
    fill_log(count, options, values, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
             "");
    *state = handle_new(HANDLE_LINK, os_allocate(sizeof(struct link)));
    return cudaSuccess;
}

/* `data` has `bytes` bytes. PTX may come without a NUL at the end. */
static cudaError_t add_data(const struct call *call, CUlinkState state, CUjitInputType type,
                            const void *data, size_t bytes)
{
    struct link *l = handle_object(HANDLE_LINK, state);
    if (!l)
        return cudaErrorInvalidResourceHandle;
    if (!data || !bytes)
        return cudaErrorInvalidValue;
    char *copy = os_allocate(bytes + 1);
    memcpy(copy, data, bytes);
    const char *why =
        type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY || type == CU_JIT_INPUT_CUBIN
            ? fat_binary_read_image(copy, add_text, l)
            : "objects and libraries have code for GPUs, and only PTX runs here";
    cudaError_t e = why ? refuse_image(call, copy, why) : cudaSuccess;
    os_free(copy);
    return e;
}

cudaError_t do_cuLinkAddData_v2(struct call *call, CUlinkState state, CUjitInputType type,
                                void *data, size_t bytes, const char *name, unsigned int count,
                                CUjit_option *options, void **values)
{
    return add_data(call, state, type, data, bytes);
}

cudaError_t do_cuLinkAddFile_v2(struct call *call, CUlinkState state, CUjitInputType type,
                                const char *path, unsigned int count, CUjit_option *options,
                                void **values)
{
    size_t bytes;
    char *data = read_file(path, &bytes);
    if (!data)
        return cudaErrorFileNotFound;
    cudaError_t e = add_data(call, state, type, data, bytes);
    os_free(data);
    return e;
}

/* Documented: the image belongs to the link and ends with it. */
cudaError_t do_cuLinkComplete(struct call *call, CUlinkState state, void **image, size_t *bytes)
{
    struct link *l = handle_object(HANDLE_LINK, state);
    size_t size;
    if (!l)
        return cudaErrorInvalidResourceHandle;
    if (!image || !l->count)
        return cudaErrorInvalidValue;
    os_free(l->image);
    *image = l->image = fat_binary_link(l->texts, l->count, &size);
    if (bytes)
        *bytes = size;
    return cudaSuccess;
}

cudaError_t do_cuLinkDestroy(struct call *call, CUlinkState state)
{
    struct link *l = handle_object(HANDLE_LINK, state);
    if (!l)
        return cudaErrorInvalidResourceHandle;
    handle_retire(HANDLE_LINK, state);
    for (size_t i = 0; i < l->count; i++)
        os_free(l->texts[i]);
    os_free(l->texts);
    os_free(l->image);
    os_free(l);
    return cudaSuccess;
}

/* ---- kernels ---- */

cudaError_t do_cuFuncGetAttribute(struct call *call, int *value, CUfunction_attribute attribute,
                                  CUfunction function)
{
    struct cudaFuncAttributes a;
    if (!value)
        return cudaErrorInvalidValue;
    cudaError_t e = do_cudaFuncGetAttributes(call, &a, function);
    if (e)
        return e;
    /* In the order of CUfunction_attribute. */
    const int values[CU_FUNC_ATTRIBUTE_MAX] = {a.maxThreadsPerBlock,
                                               (int)a.sharedSizeBytes,
                                               (int)a.constSizeBytes,
                                               (int)a.localSizeBytes,
                                               a.numRegs,
                                               a.ptxVersion,
                                               a.binaryVersion,
                                               a.cacheModeCA,
                                               a.maxDynamicSharedSizeBytes,
                                               a.preferredShmemCarveout,
                                               a.clusterDimMustBeSet,
                                               a.requiredClusterWidth,
                                               a.requiredClusterHeight,
                                               a.requiredClusterDepth,
                                               !!a.nonPortableClusterSizeAllowed,
                                               a.clusterSchedulingPolicyPreference};
    if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return cudaErrorInvalidValue;
    *value = values[attribute];
    return cudaSuccess;
}

/* Returns a kernel's function without its code, or an error. */
static cudaError_t find_loaded(const void *function, struct registered_kernel **k,
                               struct function **f)
{
    const char *why;
    cudaError_t e = registry_find_kernel(function, k);
    if (e)
        return e;
    *f = registry_function(*k, &why);
    return *f ? cudaSuccess : nvcc_kernel_refuse(*k, why);
}

cudaError_t do_cuFuncLoad(struct call *call, CUfunction function)
{
    return registry_kernel(function) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t do_cuFuncGetModule(struct call *call, CUmodule *module, CUfunction function)
{
    struct registered_kernel *k;
    struct function *f;
    if (!module || !function)
        return cudaErrorInvalidValue;
    cudaError_t e = find_loaded(function, &k, &f);
    if (e)
        return e;
    if (!k->binary->handle)
        k->binary->handle = handle_new(HANDLE_MODULE, k->binary);
    *module = k->binary->handle;
    return cudaSuccess;
}

/* Documented: an index after the last parameter is CUDA_ERROR_INVALID_VALUE, with which a program
 * counts them. */
cudaError_t do_cuFuncGetParamInfo(struct call *call, CUfunction function, size_t index,
                                  size_t *offset, size_t *bytes)
{
    struct registered_kernel *k;
    struct function *f;
    if (!offset || !function)
        return cudaErrorInvalidValue;
    cudaError_t e = find_loaded(function, &k, &f);
    if (e)
        return e;
    if (index >= f->parameters.count)
        return cudaErrorInvalidValue;
    *offset = f->parameters.all[index].offset;
    if (bytes)
        *bytes = f->parameters.all[index].bytes;
    return cudaSuccess;
}

/* Finds the block size with the most threads on a multiprocessor or, of two with equally many, the
 * larger one, as the toolkit's cudaOccupancyMaxPotentialBlockSize does. */
cudaError_t do_cuOccupancyMaxPotentialBlockSizeWithFlags(struct call *call, int *grid, int *block,
                                                         CUfunction function,
                                                         CUoccupancyB2DSize sharedOf,
                                                         size_t sharedBytes, int limit,
                                                         unsigned int flags)
{
    struct cudaFuncAttributes a;
    const int most = (int)device_figure(cudaDevAttrMaxThreadsPerMultiProcessor),
              multiprocessors = (int)device_figure(cudaDevAttrMultiProcessorCount);
    int best = 0;
    if (!grid || !block || limit < 0)
        return cudaErrorInvalidValue;
    cudaError_t e = do_cudaFuncGetAttributes(call, &a, function);
    if (e)
        return e;
    limit = limit && limit < a.maxThreadsPerBlock ? limit : a.maxThreadsPerBlock;
    *grid = *block = 0;
    for (int aligned = (limit + 31) / 32 * 32; aligned > 0 && best < most; aligned -= 32) {
        int threads = aligned < limit ? aligned : limit, blocks;
        e = do_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            call, &blocks, function, threads, sharedOf ? sharedOf(threads) : sharedBytes, flags);
        if (e)
            return e;
        if (blocks * threads <= best)
            continue;
        best = blocks * threads;
        *block = threads;
        *grid = blocks * multiprocessors;
    }
    return cudaSuccess;
}

/* ---- launches ---- */

/* Finds the buffer of all parameters in a launch's `extra`. Returns false if it is malformed. */
static bool read_extra(void **extra, const char **buffer, size_t *bytes)
{
    for (*buffer = NULL, *bytes = 0; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *bytes = *(size_t *)extra[1];
        else
            return false;
    }
    return true;
}

/* Returns a pointer to each argument, which the caller owns: a copy of `arguments`, or from the
 * buffer in `extra`. Documented: exactly one of the two is given if there are any. Measured
 * (probe-more-answers.txt, "launches"): an `extra` without a buffer may be given with arguments. */
static cudaError_t find_arguments(const void *function, void **arguments, void **extra,
                                  void ***found)
{
    struct registered_kernel *k;
    struct function *f;
    const char *buffer = NULL;
    size_t bytes = 0;
    *found = NULL;
    cudaError_t e = find_loaded(function, &k, &f);
    if (e)
        return e;
    size_t count = f->parameters.count;
    if ((extra && !read_extra(extra, &buffer, &bytes)) || (arguments && buffer)
        || (count && !arguments && !buffer))
        return cudaErrorInvalidValue;
    *found = os_allocate((count + 1) * sizeof **found);
    for (size_t n = 0; n < count; n++) {
        const struct variable *p = &f->parameters.all[n];
        (*found)[n] = arguments ? arguments[n] : (void *)(uintptr_t)(buffer + p->offset);
        if (!arguments && p->offset + p->bytes > bytes)
            e = cudaErrorInvalidValue;
    }
    if (!e)
        return cudaSuccess;
    os_free(*found);
    return e;
}

cudaError_t driver_launch(struct call *call, struct launch l, void **extra)
{
    /* The sentence of a kernel that cannot run comes from the launch. */
    void **arguments = NULL;
    cudaError_t e = find_arguments(l.host, l.arguments, extra, &arguments);
    if (e && e != cudaErrorNoKernelImageForDevice)
        return e;
    l.arguments = arguments;
    e = launch_kernel(call, &l);
    if (arguments)
        os_free(arguments);
    return e;
}

cudaError_t do_cuLaunchKernelEx(struct call *call, const CUlaunchConfig *config,
                                CUfunction function, void **parameters, void **extra)
{
    if (!config)
        return cudaErrorInvalidValue;
    struct launch l = {function,
                       {config->gridDimX, config->gridDimY, config->gridDimZ},
                       {config->blockDimX, config->blockDimY, config->blockDimZ},
                       parameters,
                       config->sharedMemBytes,
                       .stream = config->hStream};
    launch_take_attributes(&l, (const cudaLaunchAttribute *)config->attrs, config->numAttrs);
    return driver_launch(call, l, extra);
}

cudaError_t do_cuGraphAddKernelNode_v2(struct call *call, CUgraphNode *node, CUgraph graph,
                                       const CUgraphNode *dependencies, size_t count,
                                       const CUDA_KERNEL_NODE_PARAMS *p)
{
    void **arguments;
    if (!p)
        return cudaErrorInvalidValue;
    const void *function = p->func ? (const void *)p->func : (const void *)p->kern;
    cudaError_t e = find_arguments(function, p->kernelParams, p->extra, &arguments);
    if (e)
        return e;
    struct cudaKernelNodeParams params = {.func = (void *)(uintptr_t)function,
                                          .gridDim = {p->gridDimX, p->gridDimY, p->gridDimZ},
                                          .blockDim = {p->blockDimX, p->blockDimY, p->blockDimZ},
                                          .sharedMemBytes = p->sharedMemBytes,
                                          .kernelParams = arguments};
    e = do_cudaGraphAddKernelNode(call, node, graph, dependencies, count, &params);
    os_free(arguments);
    return e;
}
