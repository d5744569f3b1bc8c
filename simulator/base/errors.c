/* The names and short texts of error codes: what cudaGetErrorName and cudaGetErrorString of
 * libcudart 13.0 return for every code in its header. */
#include "base/errors.h"

#include <stddef.h>
#include <stdint.h>

#define E(name, text) cudaError##name, "cudaError" #name, text

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {E(InvalidValue, "invalid argument")},
    {E(MemoryAllocation, "out of memory")},
    {E(InitializationError, "initialization error")},
    {E(CudartUnloading, "driver shutting down")},
    {E(ProfilerDisabled, "profiler disabled while using external profiling tool")},
    {E(ProfilerNotInitialized, "profiler not initialized: call cudaProfilerInitialize()")},
    {E(ProfilerAlreadyStarted, "profiler already started")},
    {E(ProfilerAlreadyStopped, "profiler already stopped")},
    {E(InvalidConfiguration, "invalid configuration argument")},
    {E(InvalidPitchValue, "invalid pitch argument")},
    {E(InvalidSymbol, "invalid device symbol")},
    {E(InvalidHostPointer, "invalid host pointer")},
    {E(InvalidDevicePointer, "invalid device pointer")},
    {E(InvalidTexture, "invalid texture reference")},
    {E(InvalidTextureBinding, "texture is not bound to a pointer")},
    {E(InvalidChannelDescriptor, "invalid channel descriptor")},
    {E(InvalidMemcpyDirection, "invalid copy direction for memcpy")},
    {E(AddressOfConstant, "invalid address of constant")},
    {E(TextureFetchFailed, "fetch from texture failed")},
    {E(TextureNotBound, "cannot fetch from a texture that is not bound")},
    {E(SynchronizationError, "incorrect use of __syncthreads()")},
    {E(InvalidFilterSetting, "linear filtering not supported for non-float type")},
    {E(InvalidNormSetting, "read as normalized float not supported for data type")},
    {E(MixedDeviceExecution, "device emulation mode and device execution mode cannot be mixed")},
    {E(NotYetImplemented, "feature not yet implemented")},
    {E(MemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit")},
    {E(StubLibrary, "CUDA driver is a stub library")},
    {E(InsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")},
    {E(CallRequiresNewerDriver, "API call is not supported in the installed CUDA driver")},
    {E(InvalidSurface, "invalid surface reference")},
    {E(DuplicateVariableName, "duplicate global variable looked up by string name")},
    {E(DuplicateTextureName, "duplicate texture looked up by string name")},
    {E(DuplicateSurfaceName, "duplicate surface looked up by string name")},
    {E(DevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable")},
    {E(IncompatibleDriverContext, "incompatible driver context")},
    {E(MissingConfiguration, "__global__ function call is not configured")},
    {E(PriorLaunchFailure, "unspecified launch failure in prior launch")},
    {E(LaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches")},
    {E(LaunchFileScopedTex, "launch failed because kernel uses unsupported, file-scoped textures "
                            "(texture objects are supported)")},
    {E(LaunchFileScopedSurf, "launch failed because kernel uses unsupported, file-scoped surfaces "
                             "(surface objects are supported)")},
    {E(SyncDepthExceeded, "cudaDeviceSynchronize failed because caller's grid depth exceeds "
                          "cudaLimitDevRuntimeSyncDepth")},
    E(LaunchPendingCountExceeded,
      "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    {E(InvalidDeviceFunction, "invalid device function")},
    {E(NoDevice, "no CUDA-capable device is detected")},
    {E(InvalidDevice, "invalid device ordinal")},
    {E(DeviceNotLicensed, "device doesn't have valid Grid license")},
    {E(SoftwareValidityNotEstablished, "integrity checks failed")},
    {E(StartupFailure, "startup failure in cuda runtime")},
    {E(InvalidKernelImage, "device kernel image is invalid")},
    {E(DeviceUninitialized, "invalid device context")},
    {E(MapBufferObjectFailed, "mapping of buffer object failed")},
    {E(UnmapBufferObjectFailed, "unmapping of buffer object failed")},
    {E(ArrayIsMapped, "array is mapped")},
    {E(AlreadyMapped, "resource already mapped")},
    {E(NoKernelImageForDevice, "no kernel image is available for execution on the device")},
    {E(AlreadyAcquired, "resource already acquired")},
    {E(NotMapped, "resource not mapped")},
    {E(NotMappedAsArray, "resource not mapped as array")},
    {E(NotMappedAsPointer, "resource not mapped as pointer")},
    {E(ECCUncorrectable, "uncorrectable ECC error encountered")},
    {E(UnsupportedLimit, "limit is not supported on this architecture")},
    {E(DeviceAlreadyInUse, "exclusive-thread device already in use by a different thread")},
    {E(PeerAccessUnsupported, "peer access is not supported between these two devices")},
    {E(InvalidPtx, "a PTX JIT compilation failed")},
    {E(InvalidGraphicsContext, "invalid OpenGL or DirectX context")},
    {E(NvlinkUncorrectable, "uncorrectable NVLink error detected during the execution")},
    {E(JitCompilerNotFound, "PTX JIT compiler library not found")},
    {E(UnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain.")},
    {E(JitCompilationDisabled, "PTX JIT compilation was disabled")},
    {E(UnsupportedExecAffinity, "the provided execution affinity is not supported")},
    E(UnsupportedDevSideSync,
      "the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    {E(Contained, "Invalid access of peer GPU memory over nvlink or a hardware error")},
    {E(InvalidSource, "device kernel image is invalid")},
    {E(FileNotFound, "file not found")},
    {E(SharedObjectSymbolNotFound, "shared object symbol not found")},
    {E(SharedObjectInitFailed, "shared object initialization failed")},
    {E(OperatingSystem, "OS call failed or operation not supported on this OS")},
    {E(InvalidResourceHandle, "invalid resource handle")},
    {E(IllegalState, "the operation cannot be performed in the present state")},
    {E(LossyQuery, "attempted introspection would be semantically lossy")},
    {E(SymbolNotFound, "named symbol not found")},
    {E(NotReady, "device not ready")},
    {E(IllegalAddress, "an illegal memory access was encountered")},
    {E(LaunchOutOfResources, "too many resources requested for launch")},
    {E(LaunchTimeout, "the launch timed out and was terminated")},
    {E(LaunchIncompatibleTexturing, "launch uses incompatible texturing mode")},
    {E(PeerAccessAlreadyEnabled, "peer access is already enabled")},
    {E(PeerAccessNotEnabled, "peer access has not been enabled")},
    {E(SetOnActiveProcess, "cannot set while device is active in this process")},
    {E(ContextIsDestroyed, "context is destroyed")},
    {E(Assert, "device-side assert triggered")},
    {E(TooManyPeers, "peer mapping resources exhausted")},
    {E(HostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped")},
    {E(HostMemoryNotRegistered, "pointer does not correspond to a registered memory region")},
    {E(HardwareStackError, "hardware stack error")},
    {E(IllegalInstruction, "an illegal instruction was encountered")},
    {E(MisalignedAddress, "misaligned address")},
    {E(InvalidAddressSpace, "operation not supported on global/shared address space")},
    {E(InvalidPc, "invalid program counter")},
    {E(LaunchFailure, "unspecified launch failure")},
    {E(CooperativeLaunchTooLarge, "too many blocks in cooperative launch")},
    {E(TensorMemoryLeak, "tensor memory not completely freed")},
    {E(NotPermitted, "operation not permitted")},
    {E(NotSupported, "operation not supported")},
    {E(SystemNotReady, "system not yet initialized")},
    {E(SystemDriverMismatch, "system has unsupported display driver / cuda driver combination")},
    {E(CompatNotSupportedOnDevice, "forward compatibility was attempted on non supported HW")},
    E(MpsConnectionFailed,
      "MPS client failed to connect to the MPS control daemon or the MPS server"),
    {E(MpsRpcFailure,
       "the remote procedural call between the MPS server and the MPS client failed")},
    {E(MpsServerNotReady, "MPS server is not ready to accept new MPS client requests")},
    E(MpsMaxClientsReached,
      "the hardware resources required to create MPS client have been exhausted"),
    E(MpsMaxConnectionsReached,
      "the hardware resources required to support device connections have been exhausted"),
    {E(MpsClientTerminated, "the MPS client has been terminated by the server")},
    {E(CdpNotSupported, "is using CUDA Dynamic Parallelism, but the current configuration, like "
                        "MPS, does not support it")},
    E(CdpVersionMismatch,
      "unsupported interaction between different versions of CUDA Dynamic Parallelism"),
    {E(StreamCaptureUnsupported, "operation not permitted when stream is capturing")},
    {E(StreamCaptureInvalidated, "operation failed due to a previous error during capture")},
    {E(StreamCaptureMerge, "operation would result in a merge of separate capture sequences")},
    {E(StreamCaptureUnmatched, "capture was not ended in the same stream as it began")},
    {E(StreamCaptureUnjoined, "capturing stream has unjoined work")},
    {E(StreamCaptureIsolation, "dependency created on uncaptured work in another stream")},
    E(StreamCaptureImplicit,
      "operation would make the legacy stream depend on a capturing blocking stream"),
    {E(CapturedEvent, "operation not permitted on an event last recorded in a capturing stream")},
    E(StreamCaptureWrongThread,
      "attempt to terminate a thread-local capture sequence from another thread"),
    {E(Timeout, "wait operation timed out")},
    {E(GraphExecUpdateFailure, "the graph update was not performed because it included changes "
                               "which violated constraints specific to instantiated graph update")},
    {E(ExternalDevice, "an async error has occured in external entity outside of CUDA")},
    {E(InvalidClusterSize, "a kernel launch error has occurred due to cluster misconfiguration")},
    E(FunctionNotLoaded,
      "the function handle is not loaded when calling an API that requires a loaded function"),
    E(InvalidResourceType,
      "one or more resources passed in are not valid resource types for the operation"),
    E(InvalidResourceConfiguration,
      "one or more resources are insufficient or non-applicable for the operation"),
    {E(Unknown, "unknown error")},
};

/* A binary search, because the table is sorted by code. */
static size_t find_error(cudaError_t e)
{
    size_t low = 0, high = sizeof errors / sizeof *errors;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (errors[middle].code < e)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof errors / sizeof *errors && errors[low].code == e ? low : SIZE_MAX;
}

const char *error_name(cudaError_t e)
{
    size_t index = e ? find_error(e) : 0;
    return index == SIZE_MAX ? "unrecognized error code" : errors[index].name;
}

const char *error_string(cudaError_t e)
{
    size_t index = find_error(e);
    return index == SIZE_MAX ? "unrecognized error code" : errors[index].text;
}
