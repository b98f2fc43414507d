// Command sbom prints which modules a Go binary was built from, as a CycloneDX 1.6 document: what the linker wrote into
// it, so that nothing is listed that is not inside.
//
//	go run ./scripts/sbom BINARY > vedette.cdx.json
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err == nil {
		err = write(os.Stdout, info)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type component struct {
	Type    string     `json:"type"`
	Ref     string     `json:"bom-ref"`
	Name    string     `json:"name"`
	Version string     `json:"version"`
	PURL    string     `json:"purl"`
	Hashes  []fileHash `json:"hashes,omitempty"`
}

type fileHash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

// write prints the document. It has no time and no serial number, so that equal binaries have equal documents.
func write(w io.Writer, info *debug.BuildInfo) error {
	name := purl(info.Main.Path, "")
	product := component{Type: "application", Ref: name, Name: info.Main.Path, PURL: name}
	components := []component{{Type: "library", Ref: purl("std", info.GoVersion), Name: "std",
		Version: strings.TrimPrefix(info.GoVersion, "go"), PURL: purl("std", strings.TrimPrefix(info.GoVersion, "go"))}}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		c := component{Type: "library", Ref: purl(dep.Path, dep.Version), Name: dep.Path, Version: dep.Version,
			PURL: purl(dep.Path, dep.Version)}
		// h1: is the SHA-256 of the hashes of the module's files.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(dep.Sum, "h1:")); err == nil && len(sum) == 32 {
			c.Hashes = []fileHash{{"SHA-256", hex.EncodeToString(sum)}}
		}
		components = append(components, c)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{"component": product}, "components": components,
	})
}

func purl(path, version string) string {
	if version == "" {
		return "pkg:golang/" + path
	}
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
