/* Statements about textures and surfaces: tex, tld4, suld, and sust. Objects have one level, so a
 * level of detail or gradients change nothing (documented: a level is clamped to those that the
 * texture has). */
#include "ptx/texture.h"

#include "ptx/decode.h"

bool decode_names_texture(struct word name) { return word_among(name, "tex tld4 suld sust"); }

/* If it is one of the words, sets its number among them, from 0 on. */
static bool read_among(struct word w, const char *words, uint8_t *number)
{
    const unsigned n = word_among(w, words);
    *number = n ? (uint8_t)(n - 1) : *number;
    return n;
}

static bool read_geometry(struct word w, struct instruction *i)
{
    return read_among(w, "1d 2d 3d a1d a2d cube acube", &i->option);
}

/* Sets the registers of the object and the coordinates. 3D coordinates have a fourth, which does
 * not count. */
static void read_place(struct decoder *d, const struct operand *o, struct instruction *i)
{
    static const uint8_t counts[] = {1, 2, 3, 2, 3, 3, 4};
    const struct operand *all = o->second;
    const size_t given = all && all->kind == OPERAND_VECTOR ? all->part_count : 1;
    if (o->kind != OPERAND_ADDRESS || !all || o->parts->kind != OPERAND_REGISTER
        || given < counts[i->option]) {
        decode_refuse(d, "a texture reference, or coordinates of a form that is not simulated");
        return;
    }
    i->r[TEXTURE_OBJECT] = decode_value(d, o->parts, 8);
    for (size_t n = 0; n < counts[i->option]; n++)
        i->r[TEXTURE_PLACE + n] =
            decode_value(d, all->kind == OPERAND_VECTOR ? &all->parts[n] : all, 4);
}

/* tex.geometry.v4.type.coordinates {d, ...}, [object, {x, ...}], with a level or gradients; and
 * tld4.component.2d.v4.type.f32, the four texels that a filter would weigh. */
static void decode_fetch(struct decoder *d)
{
    const struct statement *st = &d->statement;
    const bool gathers = word_is(st->parts[0], "tld4");
    struct instruction i = {.option = 255, .count = 4, .bytes = 4, .space = SPACE_GLOBAL};
    size_t operands = 2, types = 0;
    for (size_t n = 1; n < st->part_count; n++) {
        const struct word w = st->parts[n];
        if (read_geometry(w, &i) || word_is(w, "v4"))
            continue;
        if (word_is(w, "level"))
            operands = 3;
        else if (word_is(w, "grad"))
            operands = 4;
        else if (gathers && read_among(w, "r g b a", &i.rounding))
            continue;
        else if (types < 2 && type_bytes(w) == 4
                 && (word_is(w, "f32") || word_is(w, "s32") || (!types && word_is(w, "u32")))) {
            i.is_signed = types++ && *w.at == 's';
        } else {
            decode_refuse(d, "a form of a texture fetch that is not simulated");
            return;
        }
    }
    if (i.option == 255 || types != 2 || st->operand_count != operands
        || (gathers && i.option != GEOMETRY_2D) || (i.is_signed && gathers)) {
        decode_refuse(d, "a form of a texture fetch that is not simulated");
        return;
    }
    decode_elements(d, &i, &st->operands[0], 0);
    read_place(d, &st->operands[1], &i);
    decode_add_made(d, gathers ? run_gather : run_texture, INSTRUCTION_PLAIN, &i);
}

/* suld.b.geometry.v4.b32.trap {d, ...}, [object, {x, ...}] and sust.b, whose value is the last
 * operand. Cubes have the form of layers. */
static void decode_surface(struct decoder *d)
{
    const struct statement *st = &d->statement;
    const bool stores = word_is(st->parts[0], "sust");
    struct instruction i = {.option = 255, .count = 1, .space = SPACE_GLOBAL};
    bool is_plain = false;
    for (size_t n = 1; n < st->part_count; n++) {
        const struct word w = st->parts[n];
        if (read_geometry(w, &i) || read_among(w, "trap clamp zero", &i.rounding))
            continue;
        if (word_is(w, "b"))
            is_plain = true;
        else if (word_among(w, "v2 v4"))
            i.count = (uint8_t)(w.at[1] - '0');
        else if (*w.at == 'b' && type_bytes(w) && type_bytes(w) <= 8)
            i.bytes = (uint8_t)type_bytes(w);
        else if (!word_among(w, "ca cg cs cv wb wt")) {
            decode_refuse(d, "a form of a surface access that is not simulated");
            return;
        }
    }
    if (!is_plain || !i.bytes || i.option > GEOMETRY_2D_LAYERS || st->operand_count != 2) {
        decode_refuse(d, "a form of a surface access that is not simulated");
        return;
    }
    decode_elements(d, &i, &st->operands[stores], stores);
    read_place(d, &st->operands[!stores], &i);
    decode_add_made(d, stores ? run_surface_store : run_surface_load, INSTRUCTION_PLAIN, &i);
}

bool decode_texture(struct decoder *d)
{
    if (!decode_names_texture(d->statement.parts[0]))
        return false;
    if (word_among(d->statement.parts[0], "tex tld4"))
        decode_fetch(d);
    else
        decode_surface(d);
    return true;
}
