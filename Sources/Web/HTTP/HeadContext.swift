/// A place for a handler's results from a head, for when the connection sends the same head again.
package final class HeadContext {
  package var content: AnyObject?
}
