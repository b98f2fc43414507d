package markup

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// scriptable are the namespaces whose script elements and event attributes browsers run.
var scriptable = map[string]bool{"http://www.w3.org/2000/svg": true, "http://www.w3.org/1999/xhtml": true}

// RunsXML reports whether a function of this name is called in a document of XML, such as a drawing. The document has
// to be well-formed, and what calls the function stands in a namespace that has scripts.
func RunsXML(document, name string) bool {
	if _, ok := Runs(document, name); !ok {
		return false
	}
	runs, inScript := false, false
	for d := xml.NewDecoder(strings.NewReader(document)); ; {
		token, err := d.Token()
		switch t := token.(type) {
		case xml.StartElement:
			inScript = t.Name.Local == "script" && scriptable[t.Name.Space]
			for _, a := range t.Attr {
				runs = runs || scriptable[t.Name.Space] && strings.HasPrefix(a.Name.Local, "on") && strings.Contains(a.Value, name)
			}
		case xml.CharData:
			runs = runs || inScript && strings.Contains(string(t), name)
		case xml.EndElement:
			inScript = false
		}
		if err != nil {
			return runs && errors.Is(err, io.EOF)
		}
	}
}
