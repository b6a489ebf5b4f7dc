package llm

import "net"

// stillOpen can not be told here; a connection closed meanwhile is seen when it is
// used, as it is by any client.
func stillOpen(net.Conn) bool { return true }
