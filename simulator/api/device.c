/* The API's skin: versions, errors, devices, peers. Each function checks its arguments, makes one
 * call, remembers the error. */
#include "api/export.h"

#include <string.h>

#include "api/call.h"
#include "check/checker.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "base/journal.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "sched/engine.h"

/* ---- errors and versions ---- */

const char *cudaGetErrorName(cudaError_t error) { return error_name(error); }
const char *cudaGetErrorString(cudaError_t error) { return error_string(error); }

static cudaError_t last_error(const char *name, bool clear)
{
    call_begin_always(name, COST_SMALL);
    cudaError_t e = call_last_error(clear);
    journal_call_end(error_name(e));
    call_end_quietly();
    return e;
}

cudaError_t cudaGetLastError(void) { return AT(last_error("cudaGetLastError", true)); }
cudaError_t cudaPeekAtLastError(void) { return AT(last_error("cudaPeekAtLastError", false)); }

cudaError_t cudaDriverGetVersion(int *version)
{
    cudaError_t e = CALL("cudaDriverGetVersion", COST_SMALL);
    if (!e && !version)
        e = cudaErrorInvalidValue;
    if (!e)
        *version = settings.driver_version;
    return call_end(e);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    cudaError_t e = CALL("cudaRuntimeGetVersion", COST_SMALL);
    if (!e && !version)
        e = cudaErrorInvalidValue;
    if (!e)
        *version = CUDART_VERSION;
    return call_end(e);
}

/* ---- devices ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t e = CALL("cudaGetDeviceCount", COST_SMALL);
    if (!e && !count)
        e = cudaErrorInvalidValue;
    if (!e)
        *count = settings.devices;
    return call_end(e);
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t e = CALL("cudaGetDevice", COST_SMALL);
    if (!e && !device)
        e = cudaErrorInvalidValue;
    if (!e)
        *device = device_current();
    return call_end(e);
}

static cudaError_t set_device(const char *name, int device)
{
    cudaError_t e = call_begin(name, COST_SMALL);
    journal_signed("device", device);
    /* Measured: p2p.txt, run 1: of the calls after a fault this one succeeds. */
    if (e && e == device_sticky_error() && device_exists(device))
        e = cudaSuccess;
    if (!e && !device_exists(device))
        e = cudaErrorInvalidDevice;
    if (!e)
        device_set_current(device);
    return call_end(e);
}

cudaError_t cudaSetDevice(int device) { return AT(set_device("cudaSetDevice", device)); }

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    (void)deviceFlags, (void)flags;
    cudaError_t e = CALL("cudaInitDevice", COST_SMALL);
    if (!e && !device_exists(device))
        e = cudaErrorInvalidDevice;
    return call_end(e);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    cudaError_t e = CALL("cudaGetDeviceProperties", COST_SMALL);
    if (!e && !properties)
        e = cudaErrorInvalidValue;
    if (!e && !device_exists(device))
        e = cudaErrorInvalidDevice;
    if (!e)
        device_properties(properties);
    return call_end(e);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    cudaError_t e = CALL("cudaDeviceGetAttribute", COST_SMALL);
    journal_signed("attribute", (int64_t)attribute);
    if (!e && !value)
        e = cudaErrorInvalidValue;
    if (!e && !device_exists(device))
        e = cudaErrorInvalidDevice;
    if (!e && !device_attribute((int)attribute, value))
        e = cudaErrorInvalidValue;
    if (!e)
        journal_signed("value", *value);
    return call_end(e);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    cudaError_t e = CALL("cudaDeviceGetStreamPriorityRange", COST_SMALL);
    if (!e && leastPriority)
        *leastPriority = 0;
    if (!e && greatestPriority)
        *greatestPriority = -5; /* measured: H200 */
    return call_end(e);
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t e = CALL("cudaDeviceSynchronize", COST_SYNCHRONIZE);
    journal_signed("device", device_current());
    if (!e) {
        engine_finish_device(device_current(), true, "cudaDeviceSynchronize");
        pools_synchronized();
        e = device_sticky_error();
    }
    return call_end(e);
}

/* documented: what the device has in this process ends with the call, so that nothing of it is a
 * leak, and what of it the program uses later is undefined.
 * Chosen: the call waits for the device's work; streams, events, pools that the program has made
 * and memory that it has not freed stay as they are. */
cudaError_t cudaDeviceReset(void)
{
    cudaError_t e = CALL("cudaDeviceReset", COST_SYNCHRONIZE);
    int device = device_current();
    journal_signed("device", device);
    if (!e) {
        engine_finish_device(device, true, "cudaDeviceReset");
        pools_synchronized();
        e = device_sticky_error();
    }
    if (!e) {
        pools_reset(device);
        device_reset(device, checker_newest_allocation());
    }
    return call_end(e);
}

/* Flags choose how a real host waits; here they change nothing (chosen), but wrong ones are refused
 * (measured). */
static unsigned device_flags = cudaDeviceMapHost;

cudaError_t cudaSetDeviceFlags(unsigned int wanted)
{
    cudaError_t e = CALL("cudaSetDeviceFlags", COST_SMALL);
    if (!e && wanted & ~(unsigned)cudaDeviceMask)
        e = cudaErrorInvalidValue;
    if (!e)
        device_flags = wanted | cudaDeviceMapHost;
    return call_end(e);
}

cudaError_t cudaGetDeviceFlags(unsigned int *answer)
{
    cudaError_t e = CALL("cudaGetDeviceFlags", COST_SMALL);
    if (!e && !answer)
        e = cudaErrorInvalidValue;
    if (!e)
        *answer = device_flags;
    return call_end(e);
}

/* ---- peers ---- */

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    cudaError_t e = CALL("cudaDeviceCanAccessPeer", COST_SMALL);
    if (!e && !canAccessPeer)
        e = cudaErrorInvalidValue;
    if (!e && (!device_exists(device) || !device_exists(peerDevice)))
        e = cudaErrorInvalidDevice;
    /* Measured: a device and itself: 0. */
    if (!e)
        *canAccessPeer = device != peerDevice && settings.peers;
    return call_end(e);
}

static cudaError_t set_peer(const char *name, int peer, unsigned flags, bool on)
{
    cudaError_t e = call_begin(name, COST_SMALL);
    int device = device_current();
    journal_signed("device", device);
    journal_signed("peer", peer);
    if (!e && flags)
        e = cudaErrorInvalidValue;
    if (!e && (!device_exists(peer) || peer == device))
        e = cudaErrorInvalidDevice;
    /* Documented: for enabling; what is not on cannot be disabled, below. */
    if (!e && on && !settings.peers)
        e = cudaErrorPeerAccessUnsupported;
    if (!e && device_peer_accessible(device, peer) == on)
        e = on ? cudaErrorPeerAccessAlreadyEnabled : cudaErrorPeerAccessNotEnabled;
    /* What needed it has failed: that is told, too. */
    bool too_late = e && e == device_sticky_error() && device_exists(peer);
    if (on && (!e || too_late))
        checker_access_granted(memory_heap(peer), device);
    /* Chosen: as for a pool; the documentation does not say that the call waits. */
    if (!e && !on)
        checker_access_revoked(*memory_peer_uses(peer), device);
    if (!e)
        device_set_peer_access(device, peer, on);
    return call_end(e);
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    return AT(set_peer("cudaDeviceEnablePeerAccess", peerDevice, flags, true));
}
cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
    return AT(set_peer("cudaDeviceDisablePeerAccess", peerDevice, 0, false));
}

/* ---- the one call that returns a structure ---- */

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}
