package spec

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// sitemap reads the addresses of a sitemap, or those of the sitemaps that an index names.
func (r *reader) sitemap() error {
	decoder := lenientXML(r.text)
	depth, number := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		switch t := token.(type) {
		case xml.EndElement:
			depth--
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("%s: it nests deeper than %d", r.name, maxDepth)
			}
			if t.Name.Local != "loc" {
				continue
			}
			var at string
			if err := decoder.DecodeElement(&at, &t); err != nil {
				return fmt.Errorf("%s: loc %d: %w", r.name, number+1, err)
			}
			depth--
			number++
			r.get(fmt.Sprintf("loc %d", number), at)
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) }
