// OpenCL as it is installed, but for what the environment asks for: a device that is lost, hangs, gives something else, or
// has little memory. Not here: OpenCL itself, which this library depends on.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define CL_DEVICE_NOT_AVAILABLE (-2)
#define CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)

static void *installed(const char *name)
{
    return dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), name);
}

/* Whether the environment has a number under this name, and the count, raised by `more`, is beyond it. */
static int beyond(const char *name, atomic_llong *count, long long more)
{
    const char *text = getenv(name);
    return text && atomic_fetch_add(count, more) + more > atoll(text);
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *offset, const size_t *global,
                           const size_t *local, unsigned waits, const void *wait, void *event)
{
    static atomic_llong runs, hangs;
    int (*run)() = installed("clEnqueueNDRangeKernel");
    if (beyond("FAILING_LOST_AFTER_RUNS", &runs, 1))
        return CL_DEVICE_NOT_AVAILABLE;
    if (beyond("FAILING_HANGS_AFTER_RUNS", &hangs, 1)) {
        close(open("hangs", O_CREAT | O_WRONLY, 0600));
        for (;;)
            pause();
    }
    return run(queue, kernel, dimensions, offset, global, local, waits, wait, event);
}

void *clCreateBuffer(void *context, unsigned long flags, size_t bytes, void *host, int *error)
{
    static atomic_llong taken;
    void *(*create)() = installed("clCreateBuffer");
    if (beyond("FAILING_MEMORY_BYTES", &taken, (long long)bytes)) {
        *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    return create(context, flags, bytes, host, error);
}

int clEnqueueReadBuffer(void *queue, void *buffer, unsigned blocks, size_t offset, size_t bytes, void *into, unsigned waits,
                        const void *wait, void *event)
{
    static atomic_llong reads;
    int (*read)() = installed("clEnqueueReadBuffer");
    int outcome = read(queue, buffer, blocks, offset, bytes, into, waits, wait, event);
    /* another digit, and still one */
    if (beyond("FAILING_WRONG_AFTER_READS", &reads, 1))
        *(unsigned char *)into ^= 1;
    return outcome;
}
