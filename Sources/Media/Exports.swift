// The type of a lower layer that the interface of `RunningHash` uses; its users need no other module.
@_exported public import struct Wire.Digest
