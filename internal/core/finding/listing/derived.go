package listing

import (
	"net/netip"
	"path"
	"strings"
)

// IsInternal reports whether an address, or else a host, is not of the public internet.
func IsInternal(ip, host string) bool {
	for _, text := range []string{ip, host} {
		if a, err := netip.ParseAddr(text); err == nil {
			a = a.Unmap()
			return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()
		}
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal") || host != "" && !strings.Contains(host, ".")
}

// maxCategories bounds the categories in a path that a sender chose.
const maxCategories = 8

// Categories are the protocol and the folders of a template, such as http/cves/2021/CVE-2021-1.yaml. Of an absolute
// path only the part below nuclei-templates counts.
func Categories(kind, file string) []string {
	if i := strings.LastIndex(file, "nuclei-templates/"); i >= 0 {
		file = file[i+len("nuclei-templates/"):]
	} else if strings.HasPrefix(file, "/") {
		file = ""
	}
	out := []string{kind}
	for dir := range strings.SplitSeq(path.Dir(file), "/") {
		if dir != "" && dir != "." && dir != ".." && len(out) < maxCategories {
			out = append(out, strings.ToLower(dir))
		}
	}
	return out
}
