/* Includes itself, twice. */
#include __FILE__
#include __FILE__
