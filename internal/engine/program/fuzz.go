package program

import (
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
)

// Render renders payloads of a block with fuzzing rules. made is the target's request with one tuple of payload
// values; names in base, of fuzz.Input, come last (template language 2.10). Each payload has out-of-band names of its
// own, also in payload values and in the template's variables.
func (b *Block) Render(made *Request, base dsl.Lookup) fuzz.Render {
	return func(text dsl.Text, value string) (string, error) {
		own := made.Variables
		if own.names != nil {
			own = new(*own)
			own.rendered = nil
			payload, err := b.payloads.render(made.tuple, own.envForVariable(len(own.bound.variables)), b.tolerates)
			if err != nil {
				return "", err
			}
			made.Payload, own.payload = payload, payload
		}
		env := own.env
		env.Vars = func(name string) (any, bool) {
			if v, ok := made.Payload.Lookup(name); ok {
				return v, true
			}
			if name == "value" {
				return value, true
			}
			return dsl.First(own.Lookup, base)(name)
		}
		rendered, err := text.Render(&env)
		if b.tolerates(err) {
			err = nil
		}
		return rendered, err
	}
}
