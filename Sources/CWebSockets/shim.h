// libwebsockets, and the libuv whose loop it runs on.
// SwiftPM does not rebuild when this file changes: touch a Swift file that imports it.
#pragma once

#include <libwebsockets.h>
#include <uv.h>
