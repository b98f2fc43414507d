package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// What bounds a filter changes none of its outputs.
func TestBoundFiltersFindTheSame(t *testing.T) {
	document := map[string]any{
		"s": "a,b;c", "n": 3.5, "list": []any{1.0, "x", nil, true, []any{2.0, 3.0}, map[string]any{"k": "v"}},
		"objects": []any{map[string]any{"name": "b", "v": 2.0}, map[string]any{"name": "a", "v": 1.0}},
	}
	for _, source := range []string{
		".s", ".list[1]", ".list[(1,2)]", ".objects[].name", ".objects | sort_by(.name)", ".objects | group_by(.v > 1)",
		".objects | unique_by(.name) | length", ".objects | min_by(.v), max_by(.v)", "[.objects[] | .v] | add",
		"add(.objects[].v)", ".s | split(\",\")", ".s / \",\"", ".s | split(\"[,;]\"; null)", ".s | test(\"A\"; \"i\")",
		".s | [match(\"[a-c]\"; \"g\").string]", ".s | sub(\"(?<x>[,;])\"; \"<\\(.x)>\")", ".s | gsub(\"[,;]\"; \"-\", \"+\")",
		".s | [scan(\"[a-c]\")] | join(\"-\")", "(1,2) + (10,20)", "(1,2) * (10,20)", "(10,20) - (1,2)", "(10,20) / (1,2)",
		"[(1,2) < (2,1)]", ".s * 2", ".n *= (2, 3) | .n", ".list[0] -= 1 | .list[0]", ".n /= 2 | .n", ".list |= length",
		".list[7] = 1 | .list", ".a.b[2] = 5 | .a", "setpath([\"x\", 1]; 2) | .x", "del(.list, .objects) | keys", "pick(.s)",
		"del(.list[] | select(. == null)) | .list | length", ".list | contains([1])", ".s | contains(\"b;\")",
		"[1,2,1,2] | indices([1,2])", ".s | index(\",\")", "[.list[] | tostring]", ".list | tojson | fromjson", "@json", "@base64 \"\\(.s)!\"",
		".s | @uri", "\"x\\(.n)y\\(.s)\"", "[[1,2],[3]] | transpose", "[3,1,2] | sort, unique, min, max, reverse", "[[1,[2]]] | flatten, flatten(1)",
		".s | explode | implode", ".s | ascii_upcase", "\"12\" | tonumber", "[.list[] | IN(1, \"x\")]", "reduce range(5) as $i (0; . + $i)",
		"fromstream(1 | truncate_stream([[0],1],[[1,0],2],[[1,0]],[[1]]))", "def f(x): x * 2; f(.n)", "if .n == 3.5 then .s else .n end",
		"try error(\"x\") catch .", ".n as $x | $x - 1", "[limit(3; repeat(1))]", ".objects[] |= (.v *= 2) | .objects",
		"{(.s): .n}", ".[\"s\"]", ".list[1:3]", ".list[1:3] = [9] | .list", "0 | strftime(\"%Y\")", "[paths] | length", "[..] | length",
		".s | ltrimstr(\"a\")", ".objects | map(.v) | @csv", "$ENV | length", ".s | [splits(\"x\")?]", "label $out | 1, break $out", ".. | numbers",
	} {
		parsed, err := gojq.Parse(source)
		if err != nil {
			t.Fatal(source, err)
		}
		want := outputs(parsed.Run(document))
		f, err := compileFilter(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if f.code() == nil {
			t.Errorf("%s does not compile; want %s", source, want)
			continue
		}
		if got := outputs(f.code().Run(document)); got != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
}

func outputs(all gojq.Iter) string {
	var b strings.Builder
	for {
		out, ok := all.Next()
		if !ok {
			return b.String()
		}
		if err, failed := out.(error); failed {
			fmt.Fprintf(&b, "error %v ", err)
			return b.String()
		}
		text, _ := gojq.Marshal(out)
		fmt.Fprintf(&b, "%s ", text)
	}
}
