// libqrencode 4.
#pragma once

#include <qrencode.h>
