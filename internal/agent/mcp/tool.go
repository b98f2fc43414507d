package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of a tool.
const (
	maxName        = 128      // bytes
	maxDescription = 4_000    // bytes
	maxSchema      = 32 << 10 // bytes
	maxOffered     = 64       // bytes of a name for models: what all providers allow
	maxText        = 2 << 20  // bytes of an answer
	maxURI         = 2000     // bytes
	emptySchema    = `{"type":"object"}`
)

// Tool is a tool of a server.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"` // cleaned and cut
	Schema      json.RawMessage `json:"schema"`      // cleaned
	// Claims of the server, not checked.
	ReadOnly    bool `json:"read_only"`
	Idempotent  bool `json:"idempotent"`
	Destructive bool `json:"destructive"`
	// Hidden: invisible characters were removed from the description.
	Hidden bool `json:"hidden"`
	// Digest is of everything the server says about the tool.
	Digest string `json:"digest"`
	// Fault is why the tool cannot be used.
	Fault string `json:"fault,omitempty"`
}

func toolOf(offered *sdk.Tool) Tool {
	raw, err := json.Marshal(struct {
		Name, Title, Description string
		Schema                   any
		Annotations              *sdk.ToolAnnotations
	}{offered.Name, offered.Title, offered.Description, offered.InputSchema, offered.Annotations})
	if err != nil {
		return Tool{Name: clean(offered.Name, maxName), Schema: json.RawMessage(emptySchema), Fault: "it cannot be read"}
	}
	sum := sha256.Sum256(raw)
	t := Tool{Name: offered.Name, Digest: hex.EncodeToString(sum[:]), Destructive: true}
	if a := offered.Annotations; a != nil {
		t.ReadOnly, t.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		t.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
	}
	text := cmp.Or(offered.Description, offered.Title)
	t.Description = clean(text, maxDescription)
	t.Hidden = hasHidden(text)
	t.Schema, t.Fault = schemaOf(offered.InputSchema)
	if offered.Name == "" || len(offered.Name) > maxName || hasHidden(offered.Name) {
		t.Name, t.Fault = clean(offered.Name, maxName), "its name is empty, too long, or has invisible characters"
	}
	return t
}

// schemaOf is a schema with cleaned descriptions, or why it cannot be used.
func schemaOf(offered any) (schema json.RawMessage, fault string) {
	doc, ok := offered.(map[string]any)
	if !ok || doc["type"] != "object" {
		return json.RawMessage(emptySchema), "the schema of its arguments is not that of an object"
	}
	fault = cleanSchema(doc)
	text, err := json.Marshal(doc)
	switch {
	case fault != "":
	case err != nil:
		fault = "the schema of its arguments cannot be read"
	case len(text) > maxSchema:
		fault = fmt.Sprintf("the schema of its arguments has more than %d KiB", maxSchema>>10)
	default:
		return text, ""
	}
	return json.RawMessage(emptySchema), fault
}

// cleanSchema cleans the texts for people. Other parts must not need it.
func cleanSchema(v any) (fault string) {
	switch v := v.(type) {
	case string:
		if hasHidden(v) {
			return "the schema of its arguments has invisible characters"
		}
	case []any:
		for _, item := range v {
			if fault = cleanSchema(item); fault != "" {
				return fault
			}
		}
	case map[string]any:
		for key, value := range v {
			if hasHidden(key) {
				return "the schema of its arguments has invisible characters"
			}
			if text, isText := value.(string); isText && (key == "description" || key == "title" || key == "$comment") {
				v[key] = clean(text, maxDescription/4)
				continue
			}
			if fault = cleanSchema(value); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// isInvisible reports whether people do not see a character: control and format characters, variation selectors,
// private use.
func isInvisible(r rune) bool {
	return r != '\n' && r != '\t' &&
		(unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) ||
			unicode.Is(unicode.Co, r))
}

// hasHidden looks for invisible characters; line ends of other systems are none.
func hasHidden(text string) bool {
	return strings.ContainsFunc(strings.ReplaceAll(text, "\r\n", "\n"), isInvisible)
}

func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " … (cut)"
	}
	return strings.TrimSpace(text)
}

// Offered is the name of a tool for models: server_tool, at most 64 letters, digits, "_" and "-". server has no "_",
// and a changed tool name ends with a digest, so that names never collide.
func Offered(server, tool string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, tool)
	limit := maxOffered - len(server) - len("_")
	if plain == tool && len(plain) <= limit {
		return server + "_" + plain
	}
	sum := sha256.Sum256([]byte(tool))
	mark := "_" + hex.EncodeToString(sum[:4])
	return server + "_" + plain[:min(len(plain), limit-len(mark))] + mark
}

// textOf is the content of a result as text.
func textOf(result *sdk.CallToolResult) string {
	parts := partsOf(result.Content)
	if len(parts) == 0 && result.StructuredContent != nil {
		if text, err := json.Marshal(result.StructuredContent); err == nil {
			parts = append(parts, string(text))
		}
	}
	return joined(parts)
}

// partsOf are contents as texts; what is no text is named with its type and size.
func partsOf(contents []sdk.Content) (parts []string) {
	for _, content := range contents {
		switch c := content.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent:
			parts = append(parts, fmt.Sprintf("[image, %s, %d bytes]", clean(c.MIMEType, 100), len(c.Data)))
		case *sdk.AudioContent:
			parts = append(parts, fmt.Sprintf("[sound, %s, %d bytes]", clean(c.MIMEType, 100), len(c.Data)))
		case *sdk.ResourceLink:
			parts = append(parts, "[link to "+clean(c.URI, 2000)+"]")
		case *sdk.EmbeddedResource:
			if c.Resource != nil {
				parts = append(parts, partOf(c.Resource))
			}
		}
	}
	return parts
}

func partOf(r *sdk.ResourceContents) string {
	if r.Text != "" || len(r.Blob) == 0 {
		return r.Text
	}
	return fmt.Sprintf("[%s, %d bytes]", clean(r.URI, maxURI), len(r.Blob))
}

// joined are parts as one text of bounded length.
func joined(parts []string) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(strings.Join(parts, "\n"), "\ufffd"), "\x00", "\ufffd")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n… (cut)"
	}
	return text
}
