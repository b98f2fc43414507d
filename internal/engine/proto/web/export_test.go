package web

// Stats are counts since the client was made.
type Stats struct{ Requests, Connections, Handshakes, Resumed, Stale, BytesIn, Open int64 }

// Stats returns the counts.
func (c *Client) Stats() Stats {
	s := &c.stats
	return Stats{
		Requests: s.requests.Load(), Connections: s.connections.Load(), Handshakes: s.handshakes.Load(),
		Resumed: s.resumed.Load(),
		Stale:   s.stale.Load(), BytesIn: s.in.Load(), Open: s.open.Load(),
	}
}
