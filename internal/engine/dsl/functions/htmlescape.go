package functions

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
	"sync"
)

// entityNames are the names of HTML's entities, one for each character (or pair of characters) that has any, one a
// line: a shorter before a longer, one that begins with a small letter before others, then by the alphabet.
//
//go:embed entities.txt
var entityNames string

var entities = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for name := range strings.Lines(entityNames) {
		entity := "&" + strings.TrimSuffix(name, "\n") + ";"
		all[html.UnescapeString(entity)] = entity
	}
	return all
})

// htmlEscape replaces every character that has an entity; if the second argument is true, all others by numbers.
func htmlEscape(_ *Env, args []any) (any, error) {
	numbers := len(args) > 1 && truth(args[1])
	known := entities()
	source := []rune(String(args[0]))
	var b strings.Builder
	for i := 0; i < len(source); i++ {
		if i+1 < len(source) {
			if entity, ok := known[string(source[i:i+2])]; ok {
				b.WriteString(entity)
				i++
				continue
			}
		}
		one := string(source[i])
		if entity, ok := known[one]; ok {
			b.WriteString(entity)
			continue
		}
		if !numbers {
			b.WriteString(one)
			continue
		}
		for _, x := range []byte(one) {
			fmt.Fprintf(&b, "&#%d;", x)
		}
	}
	return b.String(), nil
}
