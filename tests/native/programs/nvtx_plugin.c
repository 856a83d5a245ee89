/* A shared object with NVTX of its own, as libraries have it. */
#include "nvtx_client.h"

__attribute__((visibility("default"))) void plugin_work(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("shared domain");
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "in the plugin");
    nvtxRangePushA("plugin");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    nvtxRangePop();
}
