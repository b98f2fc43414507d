package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/api/rest/docs"
)

// Schemas that all refer to each other unfold into more rows than there are atoms; the
// page stops early and says so.
func TestUnfoldingIsBounded(t *testing.T) {
	var schemas []string
	for i := range 60 {
		var fields []string
		for j := range 60 {
			fields = append(fields, fmt.Sprintf(`"f%d":{"$ref":"#/components/schemas/S%d"}`, j, j))
		}
		schemas = append(schemas, fmt.Sprintf(`"S%d":{"properties":{%s}}`, i, strings.Join(fields, ",")))
	}
	page := get(t, "/docs", docs.Spec{Name: "wide", URL: "/openapi.json",
		JSON: []byte(`{"openapi":"3.1.0","paths":{"/":{"get":{"responses":
		{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S0"}}}}}}}},"components":{"schemas":{` +
			strings.Join(schemas, ",") + `}}}`)}).Body.String()
	if rows := strings.Count(page, "<tr"); rows > 260 || rows < 200 || !strings.Contains(page, "more than fits here") {
		t.Errorf("%d rows", rows)
	}
}
