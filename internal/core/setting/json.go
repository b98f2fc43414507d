package setting

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/turn"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"go.yaml.in/yaml/v4"
)

// ToJSON is the text of a configuration, as Config has it, in JSON. Invalid for what JSON cannot say, such as .inf.
func ToJSON(text string) (string, error) {
	plain, _ := decode(text)
	value, err := yamltext.Value(plain)
	if err == nil {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err = encoder.Encode(value); err == nil {
			return strings.TrimSuffix(out.String(), "\n"), nil
		}
	}
	return "", errs.Field("config_json", "config_json: this configuration cannot be written in JSON.").Because(err)
}

// FromJSON is the YAML of a configuration that was sent in JSON, plain or in base64. Invalid names the field config.
func FromJSON(sent string) (string, error) {
	if len(sent) > maxText*4/3 {
		return "", errs.Field("config", "config is longer than %d bytes.", maxText)
	}
	defer turn.Take(len(sent))()
	text, _ := decode(sent)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	node, err := nodeOf(decoder, 0)
	if err == nil && decoder.More() {
		err = errors.New("something follows the document")
	}
	if err != nil {
		return "", errs.Field("config", "config is not JSON: %v.", err).Because(err)
	}
	return string(render(node)), nil
}

// maxJSON is how deep a configuration in JSON may nest.
const maxJSON = 64

// nodeOf reads the next value; the order of keys is kept.
func nodeOf(d *json.Decoder, depth int) (*yaml.Node, error) {
	if depth > maxJSON {
		return nil, fmt.Errorf("it nests deeper than %d levels", maxJSON)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	scalar := func(tag, value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value} }
	switch v := token.(type) {
	case nil:
		return scalar("!!null", "null"), nil
	case bool:
		return scalar("!!bool", strconv.FormatBool(v)), nil
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalar("!!float", v.String()), nil
		}
		return scalar("!!int", v.String()), nil
	case string:
		return scalar("!!str", v), nil
	case json.Delim:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if v == '[' {
			node = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		for d.More() { // keys are values too
			child, err := nodeOf(d, depth+1)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err := d.Token()
		return node, err
	}
	return nil, fmt.Errorf("unknown token %v", token)
}
