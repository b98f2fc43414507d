package cleanup

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

const (
	maxDepth   = 12    // of values within values
	maxObjects = 10000 // of an answer
)

// ids are the names of what identifies an object, the likeliest first.
var ids = []string{"id", "_id", "uuid", "guid", "key", "slug", "number", "name"}

// stringsOf are all strings of an answer in JSON.
func stringsOf(answer *message.Response) (out []string) {
	walk(decode(answer), 0, func(value any) {
		if s, ok := value.(string); ok {
			out = append(out, s)
		}
	})
	return out
}

func decode(answer *message.Response) any {
	if !strings.Contains(answer.Type(), "json") {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(string(answer.Body)))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

// walk visits a value and all within it.
func walk(value any, depth int, visit func(any)) {
	if depth > maxDepth {
		return
	}
	visit(value)
	switch v := value.(type) {
	case []any:
		for _, one := range v[:min(len(v), maxObjects)] {
			walk(one, depth+1, visit)
		}
	case map[string]any:
		for _, one := range v {
			walk(one, depth+1, visit)
		}
	}
}

// objects removes the objects of a list in JSON that have a text of tests, by the request of the map that deletes one
// of them. It reports whether something was sent.
func (c *cleaner) objects(ctx context.Context, p Page, answer *message.Response, theirs map[string]bool) (bool, error) {
	before := map[string]bool{}
	if p.Before != nil {
		walk(decode(p.Before), 0, func(value any) {
			if object, ok := value.(map[string]any); ok {
				before[idOf(object)] = true
			}
		})
	}
	var found []string
	walk(decode(answer), 0, func(value any) {
		object, ok := value.(map[string]any)
		if !ok {
			return
		}
		id := idOf(object)
		for _, one := range object {
			if s, isText := one.(string); isText && theirs[s] && id != "" && !before[id] && !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	})
	sent, err := c.restoreObject(ctx, p, answer)
	removal := c.removalOf(p)
	if err != nil || removal == nil {
		return sent, err
	}
	for _, id := range found {
		request := named(removal.Request, id)
		if c.tried[identity(request)] {
			continue
		}
		if c.Removed >= maxRemovals {
			c.Over = true
			break
		}
		if err := c.remove(ctx, removal.User, request); err != nil {
			return sent, err
		}
		sent = true
	}
	return sent, nil
}

// idOf is what identifies an object; "" if nothing is known to.
func idOf(object map[string]any) string {
	for _, name := range ids {
		switch v := object[name].(type) {
		case string:
			return v
		case json.Number:
			return v.String()
		}
	}
	return ""
}

// removalOf is the request that deletes an object of a list: its path is that of the list with one more segment.
func (c *cleaner) removalOf(list Page) *Page {
	at := strings.TrimRight(list.Request.URL.EscapedPath(), "/")
	for i := range c.Removals {
		to := c.Removals[i].Request.URL
		if to.Host == list.Request.URL.Host && parent(to.EscapedPath()) == at+"/" {
			return &c.Removals[i]
		}
	}
	return nil
}

// parent is a path without its last segment.
func parent(path string) string {
	path = strings.TrimRight(path, "/")
	return path[:strings.LastIndexByte(path, '/')+1]
}

// named is a removal of the object with an id.
func named(removal *message.Request, id string) *message.Request {
	r := removal.Clone()
	u := *r.URL
	u.RawPath = parent(u.EscapedPath()) + url.PathEscape(id)
	u.Path = parent(u.Path) + id
	r.URL = &u
	return r
}

// restoreObject gives an object that tests have changed the values back that it had, by the request of the map that
// updates it, at the address where it is read or one segment below.
func (c *cleaner) restoreObject(ctx context.Context, p Page, answer *message.Response) (sent bool, err error) {
	if p.Before == nil {
		return false, nil
	}
	had, has := membersOf(p.Before), membersOf(answer)
	for _, update := range c.Updates {
		request := update.Request
		if to := request.URL; to.Host != p.Request.URL.Host || c.tried["values "+identity(request)] ||
			to.Path != p.Request.URL.Path && parent(to.Path) != strings.TrimRight(p.Request.URL.Path, "/")+"/" {
			continue
		}
		changed := false
		for _, place := range message.Places(request) {
			if value, known := had[place.Name]; known && place.Format == message.JSON {
				changed = changed || has[place.Name] != value && c.Client.Wrote(has[place.Name])
				request = request.Put(place, value)
			}
		}
		if !changed {
			continue
		}
		c.tried["values "+identity(update.Request)] = true
		done, err := c.update(ctx, update.User, request)
		if err != nil {
			return sent, err
		}
		sent = sent || done
	}
	return sent, nil
}

// membersOf are the texts of an object, or of the one object within it.
func membersOf(answer *message.Response) map[string]string {
	object, _ := decode(answer).(map[string]any)
	if len(object) == 1 {
		for _, only := range object {
			if inner, ok := only.(map[string]any); ok {
				object = inner
			}
		}
	}
	out := map[string]string{}
	for name, value := range object {
		if text, ok := value.(string); ok {
			out[name] = text
		}
	}
	return out
}
