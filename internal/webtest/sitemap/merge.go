package sitemap

import (
	"maps"
	"net/http"
)

// AddOf adds what a later map has and this one has not: of the first user all, and of another one, by name, requests
// that nothing led the first user to, and those that the first was refused and the other was not. What is of a kind
// that is known, such as another order, is kept apart: it is an object of somebody else, and no other page.
func (m *Map) AddOf(other *Map, name string) {
	known, kinds, alike := map[string]int{}, map[string]bool{}, map[string]int{}
	for i, e := range m.Entries {
		known[identity(e.Request)] = i
		kinds[e.Kind] = true
	}
	for _, e := range other.Entries {
		if e.Response == nil && name != "" {
			continue
		}
		e.As = name
		if i, ok := known[identity(e.Request)]; ok {
			if first := m.Entries[i].Response; name != "" && first != nil && refused(first.Status) && e.Response.Status == http.StatusOK {
				m.Entries[i] = e
			}
			continue
		}
		if name == "" || !kinds[e.Kind] {
			m.Entries = append(m.Entries, e)
		} else if alike[e.Kind] < perKey {
			alike[e.Kind]++
			m.Others = append(m.Others, e)
		}
	}
	for address, text := range other.Scripts {
		if m.Scripts[address] == nil {
			m.Scripts[address] = text
		}
	}
	maps.Copy(m.Headers, other.Headers)
	maps.Copy(m.Cookies, other.Cookies)
}

// refused reports whether a status says that somebody may not, or must log in first.
func refused(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound ||
		status/100 == 3
}
