/* Devices and peers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "device_calls.inc"
#include "check/checker.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "run/device_variable.h"
#include "sched/engine.h"

/* ---- devices ---- */

/* A device's address on the PCI bus. */
struct bus_id {
    unsigned domain, bus, device, function;
};
/* The bytes of such an address as text, with the NUL. */
#define BUS_ID_LENGTH ((size_t)13)

/* Device 0 has the address of the recorded one. Assumed: the others follow it. */
static struct bus_id bus_id_of(int device)
{
    return (struct bus_id){(unsigned)device_figure(cudaDevAttrPciDomainId),
                           (unsigned)device_figure(cudaDevAttrPciBusId),
                           (unsigned)device_figure(cudaDevAttrPciDeviceId) + (unsigned)device, 0};
}

/* This call succeeds after a fault (measured: p2p.txt, run 1). */
cudaError_t do_cudaSetDevice(struct call *call, int device)
{
    line_signed(&call->line, "device", device);
    if (!device_exists(device))
        return device_sticky_error ? device_sticky_error : cudaErrorInvalidDevice;
    context_set_device(device);
    return cudaSuccess;
}

cudaError_t do_cudaGetDeviceProperties(struct call *call, struct cudaDeviceProp *properties,
                                       int device)
{
    if (!properties)
        return cudaErrorInvalidValue;
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    device_properties(properties);
    struct bus_id id = bus_id_of(device);
    properties->pciDomainID = (int)id.domain;
    properties->pciBusID = (int)id.bus;
    properties->pciDeviceID = (int)id.device;
    /* Assumed: devices differ in the last byte. */
    properties->uuid.bytes[sizeof properties->uuid.bytes - 1] = (char)(device + 1);
    return cudaSuccess;
}

cudaError_t do_cudaDeviceGetAttribute(struct call *call, int *value, enum cudaDeviceAttr attribute,
                                      int device)
{
    line_signed(&call->line, "attribute", (int64_t)attribute);
    if (!value)
        return cudaErrorInvalidValue;
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    if (!device_attribute((int)attribute, value))
        return cudaErrorInvalidValue;
    if (attribute == cudaDevAttrPciDeviceId)
        *value = (int)bus_id_of(device).device;
    line_signed(&call->line, "value", *value);
    return cudaSuccess;
}

cudaError_t do_cudaDeviceGetPCIBusId(struct call *call, char *text, int length, int device)
{
    line_signed(&call->line, "device", device);
    if (!text)
        return cudaErrorInvalidValue;
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    /* Measured (probe-pitch.txt, "numbers"): text that does not fit is cut off and rejected; a
     * negative length counts as one too few. */
    struct bus_id id = bus_id_of(device);
    size_t room = length < 0 ? BUS_ID_LENGTH - 1 : (size_t)length;
    snprintf(text, room, "%04X:%02X:%02X.%X", id.domain, id.bus, id.device, id.function);
    return room < BUS_ID_LENGTH ? cudaErrorInvalidValue : cudaSuccess;
}

/* Reads a hexadecimal number and advances the text. Measured (probe-pitch.txt,
 * "found_by_number"): leading spaces are allowed, and "0x" without a digit is 0, which scanf
 * rejects since glibc 2.43. */
static bool read_hexadecimal(const char **text, unsigned *number)
{
    const char *first = *text + strspn(*text, " \t\n\v\f\r");
    char *end;
    *number = (unsigned)strtoul(first, &end, 16);
    if (end == first)
        return false;
    *text = end == first + 1 && *first == '0' && (*end == 'x' || *end == 'X') ? end + 1 : end;
    return true;
}

/* Reads one of the three forms of a PCI address: complete, without its function, or without its
 * domain (documented). */
static bool read_bus_id(const char *text, struct bus_id *id)
{
    unsigned n[4];
    char between[4];
    int i = 0;
    do
        if (i == 4 || !read_hexadecimal(&text, &n[i]))
            return false;
    while ((between[i++] = *text++));
    if (!strcmp(between, "::."))
        *id = (struct bus_id){n[0], n[1], n[2], n[3]};
    else if (!strcmp(between, "::"))
        *id = (struct bus_id){n[0], n[1], n[2], 0};
    else if (!strcmp(between, ":."))
        *id = (struct bus_id){0, n[0], n[1], n[2]};
    else
        return false;
    return true;
}

cudaError_t do_cudaDeviceGetByPCIBusId(struct call *call, int *device, const char *text)
{
    struct bus_id wanted;
    /* Measured (probe-pitch.txt, "found_by_number"): which mistake gives which error. */
    if (!device || !text || !read_bus_id(text, &wanted))
        return cudaErrorInvalidValue;
    for (int d = 0; device_exists(d); d++) {
        struct bus_id id = bus_id_of(d);
        if (memcmp(&id, &wanted, sizeof id))
            continue;
        line_signed(&call->line, "device", d);
        *device = d;
        return cudaSuccess;
    }
    return cudaErrorInvalidDevice;
}

/* The range of an H200 (measured: probe-answers.txt). */
cudaError_t do_cudaDeviceGetStreamPriorityRange(struct call *call, int *leastPriority,
                                                int *greatestPriority)
{
    if (leastPriority)
        *leastPriority = 0;
    if (greatestPriority)
        *greatestPriority = -5;
    return cudaSuccess;
}

/* Makes the host wait for all work of the current device. Returns the fault of that work, if
 * any. */
cudaError_t do_cudaDeviceSynchronize(struct call *call)
{
    int device = device_current();
    line_signed(&call->line, "device", device);
    engine_finish_device_unlocking(device, SYNCHRONIZES, call->origin.call);
    pools_synchronized();
    return device_sticky_error;
}

/* Documented: everything that the device has in this process ends with the call, so it is no leak,
 * and later uses are undefined; but allocations of pools stay. Measured (probe-reset.txt): the call
 * waits for the device's work; pools, their attributes, and which one is current stay; after a
 * fault the call succeeds and clears the error, but every other call that needs a device fails.
 * Measured (kernels-reset.txt): variables of device code have their first values again. Assumed:
 * graphs that are not executable, textures, and the driver's modules stay as they are. */
cudaError_t do_cudaDeviceReset(struct call *call)
{
    int device = device_current();
    if (device_sticky_error || do_cudaDeviceSynchronize(call)) {
        device_lost();
        call_last_error(true);
        return cudaSuccess;
    }
    device_reset(device, (struct last_reset){call->origin.number, checker_newest_allocation(),
                                             stream_newest(), event_newest()});
    memory_end_device(call, device);
    device_variables_reset(device);
    /* Measured (probe-odd-peers.txt, "flags"): the primary context is no longer active. */
    context_reset_primary(device);
    return cudaSuccess;
}

struct device_wishes device_wishes = {cudaFuncCachePreferNone};

/* Flags tell a real host how to wait. Here they have no effect (assumed), but invalid ones are
 * rejected (measured: probe-answers.txt, and probe-odd-answers.txt, "flags"). They are those of the
 * device's primary context, which always maps the host's memory (measured: probe-odd-peers.txt,
 * "flags"). */
static cudaError_t set_flags(int device, unsigned wanted)
{
    const unsigned schedule = wanted & cudaDeviceScheduleMask, unnamed = 0x60;
    if (wanted & ~(unsigned)cudaDeviceMask || schedule & (schedule - 1))
        return cudaErrorInvalidValue;
    context_primary(device)->flags = wanted & ~(unnamed | cudaDeviceMapHost);
    return cudaSuccess;
}

cudaError_t do_cudaSetDeviceFlags(struct call *call, unsigned int wanted)
{
    return set_flags(device_current(), wanted);
}

/* Measured (probe-odd-peers.txt, "flags"): it begins the context, and the current device stays. */
cudaError_t do_cudaInitDevice(struct call *call, int device, unsigned int wanted,
                              unsigned int areFlags)
{
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    context_begin_primary(device);
    return areFlags & cudaInitDeviceFlagsAreValid ? set_flags(device, wanted) : cudaSuccess;
}

/* Measured (probe-odd-answers.txt, "limits"): the errors for a limit that is none, for one that an
 * H200 does not have, and for setting one that cannot be set. */
static cudaError_t check_limit(enum cudaLimit limit)
{
    return (unsigned)limit >= LIMITS ? cudaErrorInvalidValue : cudaErrorUnsupportedLimit;
}

cudaError_t do_cudaDeviceGetLimit(struct call *call, size_t *value, enum cudaLimit limit)
{
    line_signed(&call->line, "limit", (int64_t)limit);
    if (!value)
        return cudaErrorInvalidValue;
    if (!device_limit(device_current(), (int)limit, value))
        return check_limit(limit);
    line_number(&call->line, "value", *value);
    return cudaSuccess;
}

cudaError_t do_cudaDeviceSetLimit(struct call *call, enum cudaLimit limit, size_t value)
{
    line_signed(&call->line, "limit", (int64_t)limit);
    line_number(&call->line, "value", value);
    size_t before;
    cudaError_t e = device_set_limit(device_current(), (int)limit, value);
    if (e != cudaErrorUnsupportedLimit)
        return e;
    return device_limit(device_current(), (int)limit, &before) ? cudaErrorNotPermitted
                                                               : check_limit(limit);
}

/* ---- peers ---- */

/* For a device and itself the result is 0 (measured: p2p.txt). */
cudaError_t do_cudaDeviceCanAccessPeer(struct call *call, int *canAccessPeer, int device,
                                       int peerDevice)
{
    line_signed(&call->line, "device", device);
    line_signed(&call->line, "peer", peerDevice);
    if (!canAccessPeer)
        return cudaErrorInvalidValue;
    if (!device_exists(device) || !device_exists(peerDevice))
        return cudaErrorInvalidDevice;
    *canAccessPeer = settings_reaches(device, peerDevice);
    line_signed(&call->line, "value", *canAccessPeer);
    return cudaSuccess;
}

/* Measured (probe-more-peers.txt, "attributes_of_the_link"): the values of two devices that reach
 * each other, and the errors. Assumed: where they do not, the rank is the same. */
cudaError_t do_cudaDeviceGetP2PAttribute(struct call *call, int *value,
                                         enum cudaDeviceP2PAttr attribute, int device,
                                         int peerDevice)
{
    line_signed(&call->line, "attribute", (int64_t)attribute);
    line_signed(&call->line, "device", device);
    line_signed(&call->line, "peer", peerDevice);
    if (!value)
        return cudaErrorInvalidValue;
    if (!device_exists(device) || !device_exists(peerDevice) || device == peerDevice)
        return cudaErrorInvalidDevice;
    switch ((int)attribute) {
    case cudaDevP2PAttrAccessSupported:
    case cudaDevP2PAttrNativeAtomicSupported:
    case cudaDevP2PAttrCudaArrayAccessSupported:
        *value = settings_reaches(device, peerDevice);
        break;
    case cudaDevP2PAttrPerformanceRank:
    case 5: *value = 0; break; /* cudaDevP2PAttrOnlyPartialNativeAtomicSupported, of CUDA 13 */
    default: return cudaErrorInvalidValue;
    }
    line_signed(&call->line, "value", *value);
    return cudaSuccess;
}

/* Returns the error of a list of atomic operations. Measured (probe-more-peers.txt,
 * "atomics_of_the_link"): an empty list is judged before the devices, and an unknown operation
 * after them; the link and the host have no capability in any of them. Assumed: if one is unknown,
 * nothing is written. */
static cudaError_t tell_atomics(unsigned *capabilities, const enum cudaAtomicOperation *operations,
                                unsigned count, bool are_devices)
{
    if (!capabilities || !operations || !count)
        return cudaErrorInvalidValue;
    if (!are_devices)
        return cudaErrorInvalidDevice;
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)operations[i] > cudaAtomicOperationFloatMax)
            return cudaErrorInvalidValue;
    memset(capabilities, 0, count * sizeof *capabilities);
    return cudaSuccess;
}

cudaError_t do_cudaDeviceGetP2PAtomicCapabilities(struct call *call, unsigned *capabilities,
                                                  const enum cudaAtomicOperation *operations,
                                                  unsigned count, int device, int peerDevice)
{
    line_signed(&call->line, "device", device);
    line_signed(&call->line, "peer", peerDevice);
    return tell_atomics(capabilities, operations, count,
                        device_exists(device) && device_exists(peerDevice) && device != peerDevice);
}

cudaError_t do_cudaDeviceGetHostAtomicCapabilities(struct call *call, unsigned *capabilities,
                                                   const enum cudaAtomicOperation *operations,
                                                   unsigned count, int device)
{
    line_signed(&call->line, "device", device);
    return tell_atomics(capabilities, operations, count, device_exists(device));
}

cudaError_t do_cudaDeviceEnablePeerAccess(struct call *call, int peerDevice, unsigned int flags)
{
    int device = device_current();
    line_signed(&call->line, "device", device);
    line_signed(&call->line, "peer", peerDevice);
    if (device_sticky_error) {
        /* The work that needed the access has failed, so the checker reports that, too. */
        if (device_exists(peerDevice))
            checker_access_granted(call, memory_heap(peerDevice), device);
        return device_sticky_error;
    }
    if (!device_exists(peerDevice))
        return cudaErrorInvalidDevice;
    if (flags)
        return cudaErrorInvalidValue;
    /* Documented for this call. Disabling only says that the access is not enabled. For both, a
     * device is no peer of itself (measured: probe-peer-calls.txt, "access_codes"). */
    if (!settings_reaches(device, peerDevice))
        return cudaErrorPeerAccessUnsupported;
    if (device_peer_accessible(device, peerDevice))
        return cudaErrorPeerAccessAlreadyEnabled;
    checker_access_granted(call, memory_heap(peerDevice), device);
    device_set_peer_access(device, peerDevice, true);
    return cudaSuccess;
}

/* Does not wait for work that needs the access, which then faults (measured: probe-peer-calls.txt,
 * "access_waits" and "access_closed_kernel"). */
cudaError_t do_cudaDeviceDisablePeerAccess(struct call *call, int peerDevice)
{
    int device = device_current();
    line_signed(&call->line, "device", device);
    line_signed(&call->line, "peer", peerDevice);
    if (!device_exists(peerDevice))
        return cudaErrorInvalidDevice;
    if (peerDevice == device || !device_peer_accessible(device, peerDevice))
        return cudaErrorPeerAccessNotEnabled;
    checker_access_revoked(call, *memory_peer_uses(peerDevice), device);
    device_set_peer_access(device, peerDevice, false);
    return cudaSuccess;
}
