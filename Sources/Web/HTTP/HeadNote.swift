/// A place for a handler's results from a head, for when the connection sends the same head again.
package final class HeadNote {
  package var content: AnyObject?
}
