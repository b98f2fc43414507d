package message

import (
	"html"
	"strings"
)

// Shown are the forms of a body in which the content of another text may stand in it: as it is, and as it was before it
// was escaped for HTML or as a text of JSON.
func Shown(body []byte) string {
	text := string(body)
	return text + "\n" + html.UnescapeString(text) + "\n" + unescapeJSON.Replace(text)
}

var unescapeJSON = strings.NewReplacer(`\"`, `"`, `\/`, "/", `\n`, "\n", `\r`, "", `\t`, "\t", `\u003c`, "<", `\u003e`, ">",
	`\u0026`, "&", `\u0027`, "'")
