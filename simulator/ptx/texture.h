/* Textures and surfaces: how a kernel reads the texels of an array or of memory by coordinates. The
 * texels are in ordinary device memory, row after row and slice after slice, so a fetch is a read
 * of those bytes, and is judged as any other read. ptx/decode_texture.c reads the statements tex,
 * tld4, suld, and sust, and ptx/texture.c runs them. */
#ifndef SIM_PTX_TEXTURE_H
#define SIM_PTX_TEXTURE_H

#include "ptx/code.h"

/* The numbers are those of enum cudaTextureAddressMode. */
enum address_mode { ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER };
/* The numbers are those of enum cudaChannelFormatKind. */
enum channel_kind { CHANNEL_SIGNED, CHANNEL_UNSIGNED, CHANNEL_FLOAT };

struct texture {
    bool is_surface;
    /* Linear memory, which is read by an index (cudaResourceTypeLinear). */
    bool is_linear_memory;
    uint64_t base;
    /* The sizes in texels. `depth` counts layers and the faces of cubes, too. */
    uint32_t width, height, depth;
    /* The distance in bytes between rows, and between slices or layers. */
    uint64_t pitch, slice;
    /* A texel has 1, 2, or 4 channels of 1, 2, or 4 bytes each. */
    uint8_t channels, channel_bytes;
    enum channel_kind kind;
    enum address_mode mode[3];
    bool filters, is_normalized, reads_fractions;
    float border[4];
};

/* Reads the statement, if it is one about textures or surfaces. Statements of this name have
 * addresses of the form [object, {coordinates}]. */
struct decoder;
bool decode_texture(struct decoder *d);
bool decode_names_texture(struct word name);

/* Their instructions. `option` is the geometry. A load has its results from r[0] on, and a store
 * its values from r[1] on. */
enum { TEXTURE_OBJECT = 5, TEXTURE_PLACE = 6 };
enum geometry {
    GEOMETRY_1D,
    GEOMETRY_2D,
    GEOMETRY_3D,
    GEOMETRY_1D_LAYERS,
    GEOMETRY_2D_LAYERS,
    GEOMETRY_CUBE,
    GEOMETRY_CUBE_LAYERS
};
/* For surfaces, `rounding` says what happens to an access outside. */
enum boundary { BOUNDARY_TRAP, BOUNDARY_CLAMP, BOUNDARY_ZERO };

instruction_run run_texture, run_gather, run_surface_load, run_surface_store;

#endif
