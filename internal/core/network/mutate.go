package network

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const maxDepth = 100

// mutated is a JSON document with changes. Numbers stay as they are written.
func mutated(body []byte, changes []Mutation) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil || d.More() {
		return nil, errs.Field("json", "json: the body of the request is no JSON document.")
	}
	for i, change := range changes {
		next, ok := change.apply(doc)
		if !ok {
			return nil, errs.Field("json", "json[%d]: there is nothing at %.200q that can be changed so.", i, change.Path)
		}
		doc = next
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return nil, errs.Field("json", "json: a value cannot be written.")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// apply is the document with a change; ok is false where its path leads nowhere.
func (m Mutation) apply(doc any) (changed any, ok bool) {
	if m.Path == "" {
		return m.Value, !m.Remove
	}
	rest, ok := strings.CutPrefix(m.Path, "/")
	keys := strings.Split(rest, "/")
	if !ok || len(keys) > maxDepth {
		return nil, false
	}
	for i := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(keys[i])
	}
	return m.at(doc, keys)
}

// at applies the change below a value.
func (m Mutation) at(value any, keys []string) (changed any, ok bool) {
	last := len(keys) == 1
	switch v := value.(type) {
	case map[string]any:
		old, is := v[keys[0]]
		switch {
		case last && m.Remove:
			delete(v, keys[0])
			return v, is
		case last:
			v[keys[0]] = m.Value
			return v, true
		case !is:
			return nil, false
		}
		v[keys[0]], ok = m.at(old, keys[1:])
		return v, ok
	case []any:
		if last && keys[0] == "-" && !m.Remove {
			return append(v, m.Value), true
		}
		i, err := strconv.Atoi(keys[0])
		switch {
		case err != nil || i < 0 || i >= len(v):
			return nil, false
		case last && m.Remove:
			return append(v[:i], v[i+1:]...), true
		case last:
			v[i] = m.Value
			return v, true
		}
		v[i], ok = m.at(v[i], keys[1:])
		return v, ok
	}
	return nil, false
}
