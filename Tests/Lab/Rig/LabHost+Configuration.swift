extension LabHost {
  /// Avahi gives its folder to a user of its own. Where we are not root there is none but one: this is it by all names.
  static let users = """
    root:x:0:0:root:\(home):/bin/bash
    avahi:x:0:0:Avahi:\(home):/usr/sbin/nologin

    """
  static let groups = "root:x:0:\navahi:x:0:\n"

  /// A bus on which everybody may do everything: the host is theirs alone.
  static let busConfiguration = """
    <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
      "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
    <busconfig>
      <type>system</type>
      <listen>unix:path=/run/dbus/system_bus_socket</listen>
      <auth>EXTERNAL</auth>
      <policy context="default">
        <allow user="*"/>
        <allow own="*"/>
        <allow send_type="method_call"/>
        <allow send_type="signal"/>
        <allow send_requested_reply="true" send_type="method_return"/>
        <allow send_requested_reply="true" send_type="error"/>
        <allow receive_type="method_call"/>
        <allow receive_type="method_return"/>
        <allow receive_type="error"/>
        <allow receive_type="signal"/>
      </policy>
    </busconfig>

    """

  /// Debian's configuration, as far as it matters here; parts that no test uses are left out.
  static func avahiConfiguration(name: String, _ settings: String) -> String {
    """
    [server]
    host-name=\(name)
    use-ipv4=yes
    use-ipv6=yes
    ratelimit-interval-usec=1000000
    ratelimit-burst=1000
    \(settings)

    [wide-area]
    enable-wide-area=no

    [publish]
    publish-hinfo=no
    publish-workstation=no

    """
  }
}
