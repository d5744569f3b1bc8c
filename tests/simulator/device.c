/* What a device says of itself: device NAME. */
#include "expect.h"

/* ---- attributes and properties ---- */

/* Each field that has an attribute, and the attribute; as the documentation pairs them. A program
 * computes its launches from either. */
#define PAIRS(PAIR)                                                                      \
    PAIR(MaxThreadsPerBlock, maxThreadsPerBlock)                                         \
    PAIR(MaxBlockDimX, maxThreadsDim[0])                                                 \
    PAIR(MaxBlockDimY, maxThreadsDim[1])                                                 \
    PAIR(MaxBlockDimZ, maxThreadsDim[2])                                                 \
    PAIR(MaxGridDimX, maxGridSize[0])                                                    \
    PAIR(MaxGridDimY, maxGridSize[1])                                                    \
    PAIR(MaxGridDimZ, maxGridSize[2])                                                    \
    PAIR(MaxSharedMemoryPerBlock, sharedMemPerBlock)                                     \
    PAIR(TotalConstantMemory, totalConstMem)                                             \
    PAIR(WarpSize, warpSize)                                                             \
    PAIR(MaxPitch, memPitch)                                                             \
    PAIR(MaxRegistersPerBlock, regsPerBlock)                                             \
    PAIR(TextureAlignment, textureAlignment)                                             \
    PAIR(MultiProcessorCount, multiProcessorCount)                                       \
    PAIR(Integrated, integrated)                                                         \
    PAIR(CanMapHostMemory, canMapHostMemory)                                             \
    PAIR(MaxTexture1DWidth, maxTexture1D)                                                \
    PAIR(MaxTexture2DWidth, maxTexture2D[0])                                             \
    PAIR(MaxTexture2DHeight, maxTexture2D[1])                                            \
    PAIR(MaxTexture3DWidth, maxTexture3D[0])                                             \
    PAIR(MaxTexture3DHeight, maxTexture3D[1])                                            \
    PAIR(MaxTexture3DDepth, maxTexture3D[2])                                             \
    PAIR(MaxTexture2DLayeredWidth, maxTexture2DLayered[0])                               \
    PAIR(MaxTexture2DLayeredHeight, maxTexture2DLayered[1])                              \
    PAIR(MaxTexture2DLayeredLayers, maxTexture2DLayered[2])                              \
    PAIR(SurfaceAlignment, surfaceAlignment)                                             \
    PAIR(ConcurrentKernels, concurrentKernels)                                           \
    PAIR(EccEnabled, ECCEnabled)                                                         \
    PAIR(PciBusId, pciBusID)                                                             \
    PAIR(PciDeviceId, pciDeviceID)                                                       \
    PAIR(TccDriver, tccDriver)                                                           \
    PAIR(GlobalMemoryBusWidth, memoryBusWidth)                                           \
    PAIR(L2CacheSize, l2CacheSize)                                                       \
    PAIR(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor)                       \
    PAIR(AsyncEngineCount, asyncEngineCount)                                             \
    PAIR(UnifiedAddressing, unifiedAddressing)                                           \
    PAIR(MaxTexture1DLayeredWidth, maxTexture1DLayered[0])                               \
    PAIR(MaxTexture1DLayeredLayers, maxTexture1DLayered[1])                              \
    PAIR(MaxTexture2DGatherWidth, maxTexture2DGather[0])                                 \
    PAIR(MaxTexture2DGatherHeight, maxTexture2DGather[1])                                \
    PAIR(MaxTexture3DWidthAlt, maxTexture3DAlt[0])                                       \
    PAIR(MaxTexture3DHeightAlt, maxTexture3DAlt[1])                                      \
    PAIR(MaxTexture3DDepthAlt, maxTexture3DAlt[2])                                       \
    PAIR(PciDomainId, pciDomainID)                                                       \
    PAIR(TexturePitchAlignment, texturePitchAlignment)                                   \
    PAIR(MaxTextureCubemapWidth, maxTextureCubemap)                                      \
    PAIR(MaxTextureCubemapLayeredWidth, maxTextureCubemapLayered[0])                     \
    PAIR(MaxTextureCubemapLayeredLayers, maxTextureCubemapLayered[1])                    \
    PAIR(MaxSurface1DWidth, maxSurface1D)                                                \
    PAIR(MaxSurface2DWidth, maxSurface2D[0])                                             \
    PAIR(MaxSurface2DHeight, maxSurface2D[1])                                            \
    PAIR(MaxSurface3DWidth, maxSurface3D[0])                                             \
    PAIR(MaxSurface3DHeight, maxSurface3D[1])                                            \
    PAIR(MaxSurface3DDepth, maxSurface3D[2])                                             \
    PAIR(MaxSurface1DLayeredWidth, maxSurface1DLayered[0])                               \
    PAIR(MaxSurface1DLayeredLayers, maxSurface1DLayered[1])                              \
    PAIR(MaxSurface2DLayeredWidth, maxSurface2DLayered[0])                               \
    PAIR(MaxSurface2DLayeredHeight, maxSurface2DLayered[1])                              \
    PAIR(MaxSurface2DLayeredLayers, maxSurface2DLayered[2])                              \
    PAIR(MaxSurfaceCubemapWidth, maxSurfaceCubemap)                                      \
    PAIR(MaxSurfaceCubemapLayeredWidth, maxSurfaceCubemapLayered[0])                     \
    PAIR(MaxSurfaceCubemapLayeredLayers, maxSurfaceCubemapLayered[1])                    \
    PAIR(MaxTexture2DLinearWidth, maxTexture2DLinear[0])                                 \
    PAIR(MaxTexture2DLinearHeight, maxTexture2DLinear[1])                                \
    PAIR(MaxTexture2DLinearPitch, maxTexture2DLinear[2])                                 \
    PAIR(MaxTexture2DMipmappedWidth, maxTexture2DMipmap[0])                              \
    PAIR(MaxTexture2DMipmappedHeight, maxTexture2DMipmap[1])                             \
    PAIR(ComputeCapabilityMajor, major)                                                  \
    PAIR(ComputeCapabilityMinor, minor)                                                  \
    PAIR(MaxTexture1DMipmappedWidth, maxTexture1DMipmap)                                 \
    PAIR(StreamPrioritiesSupported, streamPrioritiesSupported)                           \
    PAIR(GlobalL1CacheSupported, globalL1CacheSupported)                                 \
    PAIR(LocalL1CacheSupported, localL1CacheSupported)                                   \
    PAIR(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor)                   \
    PAIR(MaxRegistersPerMultiprocessor, regsPerMultiprocessor)                           \
    PAIR(ManagedMemory, managedMemory)                                                   \
    PAIR(IsMultiGpuBoard, isMultiGpuBoard)                                               \
    PAIR(MultiGpuBoardGroupID, multiGpuBoardGroupID)                                     \
    PAIR(HostNativeAtomicSupported, hostNativeAtomicSupported)                           \
    PAIR(PageableMemoryAccess, pageableMemoryAccess)                                     \
    PAIR(ConcurrentManagedAccess, concurrentManagedAccess)                               \
    PAIR(ComputePreemptionSupported, computePreemptionSupported)                         \
    PAIR(CanUseHostPointerForRegisteredMem, canUseHostPointerForRegisteredMem)           \
    PAIR(CooperativeLaunch, cooperativeLaunch)                                           \
    PAIR(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin)                           \
    PAIR(HostRegisterSupported, hostRegisterSupported)                                   \
    PAIR(PageableMemoryAccessUsesHostPageTables, pageableMemoryAccessUsesHostPageTables) \
    PAIR(DirectManagedMemAccessFromHost, directManagedMemAccessFromHost)                 \
    PAIR(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor)                         \
    PAIR(MaxPersistingL2CacheSize, persistingL2CacheMaxSize)                             \
    PAIR(MaxAccessPolicyWindowSize, accessPolicyMaxWindowSize)                           \
    PAIR(SparseCudaArraySupported, sparseCudaArraySupported)                             \
    PAIR(HostRegisterReadOnlySupported, hostRegisterReadOnlySupported)                   \
    PAIR(TimelineSemaphoreInteropSupported, timelineSemaphoreInteropSupported)           \
    PAIR(MemoryPoolsSupported, memoryPoolsSupported)                                     \
    PAIR(GPUDirectRDMASupported, gpuDirectRDMASupported)                                 \
    PAIR(GPUDirectRDMAFlushWritesOptions, gpuDirectRDMAFlushWritesOptions)               \
    PAIR(GPUDirectRDMAWritesOrdering, gpuDirectRDMAWritesOrdering)                       \
    PAIR(MemoryPoolSupportedHandleTypes, memoryPoolSupportedHandleTypes)                 \
    PAIR(ClusterLaunch, clusterLaunch)                                                   \
    PAIR(DeferredMappingCudaArraySupported, deferredMappingCudaArraySupported)           \
    PAIR(IpcEventSupport, ipcEventSupported)                                             \
    PAIR(Reserved129, unifiedFunctionPointers)                                           \
    PAIR(NumaConfig, deviceNumaConfig)                                                   \
    PAIR(NumaId, deviceNumaId)                                                           \
    PAIR(MpsEnabled, mpsEnabled)                                                         \
    PAIR(HostNumaId, hostNumaId)                                                         \
    PAIR(GpuPciDeviceId, gpuPciDeviceID)                                                 \
    PAIR(GpuPciSubsystemId, gpuPciSubsystemID)                                           \
    PAIR(HostNumaMultinodeIpcSupported, hostNumaMultinodeIpcSupported)

static void properties(void)
{
    struct cudaDeviceProp p;
    int value;
    for (int device = 0; device < 2; device++) {
        OK(cudaGetDeviceProperties(&p, device));
#define PAIR(name, field)                                          \
    OK(cudaDeviceGetAttribute(&value, cudaDevAttr##name, device)); \
    same(__FILE__, __LINE__, #field, (unsigned)p.field, (unsigned)value);
        PAIRS(PAIR)
    }
    SAME(1024, p.maxThreadsDim[1]);
    SAME(2147483647, p.maxGridSize[0]);
    SAME(65536, p.regsPerBlock);
    SAME(1, p.streamPrioritiesSupported);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"properties", properties}};
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name))
            continue;
        cases[i].run();
        if (!wrong)
            puts("all as expected");
        return wrong;
    }
    fprintf(stderr, "device: no such case\n");
    return 2;
}
