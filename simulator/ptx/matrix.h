/* Matrices that a warp multiplies (wmma). Each thread holds a part of a matrix in its registers, a
 * fragment. Which elements a thread has is not documented; here the elements in memory's order (of
 * an accumulator: row by row) are dealt to the threads in turn, as many to each.
 * ptx/decode_matrix.c reads the statements, and ptx/matrix.c runs them. */
#ifndef SIM_PTX_MATRIX_H
#define SIM_PTX_MATRIX_H

#include "ptx/code.h"

enum element {
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_TF32,
    ELEMENT_F32,
    ELEMENT_F64,
    ELEMENT_S8,
    ELEMENT_U8,
    ELEMENT_S32
};

/* A fragment: the matrix's shape and elements, and its registers. */
struct fragment {
    enum element element;
    uint8_t rows, columns;
    /* Columns follow each other in memory, and for factors also in the fragment. */
    bool by_column;
    uint8_t register_count;
    uint32_t registers[8];
};

/* A load or a store of `d`, or d = a * b + c. */
struct matrix_step {
    struct fragment d, a, b, c;
    /* Integers stop at the greatest and the smallest number. */
    bool saturates;
};

/* Reads the statement, if it is one about matrices. */
struct decoder;
bool decode_matrix(struct decoder *d);

/* Their instructions. `immediate` is the index of the matrix step in the code; r[0] and r[1] are
 * the address and the distance between rows or columns, in elements; `target` is the address's
 * offset. */
instruction_run run_matrix_load, run_matrix_store, run_matrix_multiply;

#endif
