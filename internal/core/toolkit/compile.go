package toolkit

import (
	"fmt"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// compile makes what is run of code: of TypeScript, a module in JavaScript. The error names the field and the first
// fault. Python is compiled when it is run. A tool (and no init_code) must export run.
func compile(field string, language Language, code string, tool bool) (string, error) {
	if language == Python {
		if tool && !strings.Contains(code, "def run(") {
			return "", errs.Field(field, "%s has no function run(input).", field)
		}
		return code, nil
	}
	got := api.Transform(code, api.TransformOptions{
		Loader: api.LoaderTS, Format: api.FormatESModule, Target: api.ES2022, LogLevel: api.LogLevelSilent,
		Charset: api.CharsetUTF8,
	})
	if len(got.Errors) > 0 {
		return "", errs.Field(field, "%s: %s", field, fault(got.Errors[0]))
	}
	// An ES module's exports stand at its end in what esbuild writes.
	exports := string(got.Code)
	if i := strings.LastIndex(exports, "\nexport {"); i >= 0 {
		exports = exports[i:]
	}
	if tool && !exportsRun(exports) {
		return "", errs.Field(field, "%s exports no function run(input).", field)
	}
	return string(got.Code), nil
}

func exportsRun(exports string) bool {
	for word := range strings.FieldsFuncSeq(exports, func(r rune) bool { return strings.ContainsRune(" \n,{};", r) }) {
		if word == "run" {
			return true
		}
	}
	return false
}

func fault(m api.Message) string {
	if m.Location == nil {
		return errs.Clip(m.Text, 300)
	}
	return fmt.Sprintf("line %d, column %d: %s", m.Location.Line, m.Location.Column+1, errs.Clip(m.Text, 300))
}
