// The types of lower layers that this library's interface uses; a user needs no other module.
@_exported public import enum Engine.DeliveryStatus
@_exported public import enum Engine.Mode
@_exported public import struct Engine.ResourceProgress
@_exported public import struct Engine.ResourceRules
@_exported public import struct Media.CertificateSummary
@_exported public import enum Media.Distrust
@_exported public import enum Media.TrustVerdict
@_exported public import struct Wire.DiscoveryInfo
@_exported public import enum Wire.Encryption
@_exported public import struct Wire.EndpointID
@_exported public import struct Wire.HostID
@_exported public import enum Wire.Limits
@_exported public import struct Wire.PeerID
@_exported public import enum Wire.Reason
@_exported public import struct Wire.ServiceType
