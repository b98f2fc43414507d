package spec

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/recorded"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// zap reads what ZAP writes: exported messages, its reports in XML or JSON, and the tree of sites.
func (r *reader) zap() error {
	switch text := bytes.TrimSpace(r.text); {
	case bytes.HasPrefix(text, []byte("<")):
		return r.zapXML()
	case bytes.HasPrefix(text, []byte("{")):
		return r.zapJSON()
	case bytes.HasPrefix(text, []byte("- ")):
		return r.zapTree()
	}
	r.zapMessages()
	return nil
}

var (
	zapSeparator = regexp.MustCompile(`(?m)^=+ ?[0-9]+ ?=+\r?$`)
	statusLine   = regexp.MustCompile(`(?m)^HTTP/[0-9](\.[0-9])? [0-9]{3}`)
)

// zapMessages reads exported messages: a line with a number, a request, its response.
func (r *reader) zapMessages() {
	for i, text := range zapSeparator.Split(string(r.text), -1) {
		if at := statusLine.FindStringIndex(text); at != nil {
			text = text[:at[0]]
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		r.addRaw(fmt.Sprintf("message %d", i), text, "")
	}
}

func (r *reader) addRaw(place, text, at string) {
	q, err := recorded.ParseRaw([]byte(text), at)
	if err != nil {
		r.leaveOut(place, err.Error())
		return
	}
	r.add(place, &q)
}

// zapInstance is where an alert was raised.
type zapInstance struct {
	URI    string `json:"uri"            xml:"uri"`
	Method string `json:"method"         xml:"method"`
	Header string `json:"request-header" xml:"requestheader"`
	Body   string `json:"request-body"   xml:"requestbody"`
}

func (r *reader) instance(place string, i zapInstance) {
	if strings.TrimSpace(i.Header) != "" {
		r.addRaw(place, strings.TrimRight(i.Header, "\r\n")+"\r\n\r\n"+i.Body, i.URI)
		return
	}
	if i.Method == "" || i.Method == http.MethodGet {
		r.get(place, i.URI)
		return
	}
	r.addRaw(place, i.Method+" / HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n"+i.Body, i.URI)
}

func (r *reader) zapXML() error {
	decoder := lenientXML(r.text)
	number := 0
	for {
		token, err := decoder.Token()
		if err != nil {
			if number == 0 && token == nil && !isEnd(err) {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if !isEnd(err) {
				r.leaveOut("the rest", err.Error())
			}
			return nil
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "instance" {
			continue
		}
		number++
		place := fmt.Sprintf("instance %d", number)
		var i zapInstance
		if err := decoder.DecodeElement(&i, &start); err != nil {
			return fmt.Errorf("%s: %s: %w", r.name, place, err)
		}
		r.instance(place, i)
	}
}

func (r *reader) zapJSON() error {
	if tooDeep(r.text) {
		return fmt.Errorf("%s: it nests deeper than %d", r.name, maxDepth)
	}
	var report struct {
		Site []struct {
			Alerts []struct {
				Instances []zapInstance `json:"instances"`
			} `json:"alerts"`
		} `json:"site"`
	}
	if err := json.Unmarshal(r.text, &report); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	for s, site := range report.Site {
		for a, alert := range site.Alerts {
			for i, one := range alert.Instances {
				r.instance(fmt.Sprintf("site[%d].alerts[%d].instances[%d]", s, a, i), one)
			}
		}
	}
	return nil
}

// zapTree reads the tree of sites.
func (r *reader) zapTree() error {
	value, err := yamltext.Value(r.text)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	if _, ok := value.([]any); !ok {
		return errors.New(r.name + ": it is not a list of nodes")
	}
	r.nodes("", value, 0)
	return nil
}

func (r *reader) nodes(place string, value any, depth int) {
	list, ok := value.([]any)
	if !ok || depth > maxDepth {
		return
	}
	for i, item := range list {
		node, ok := item.(map[string]any)
		if !ok {
			continue
		}
		at := fmt.Sprintf("%s[%d]", place, i)
		text := func(name string) string {
			if s, ok := node[name].(string); ok {
				return s
			}
			return ""
		}
		if text("url") != "" {
			r.instance(at, zapInstance{URI: text("url"), Method: text("method"), Body: text("data")})
		}
		r.nodes(at+".children", node["children"], depth+1)
	}
}
