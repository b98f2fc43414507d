// Package web reads the reports of tools that test web applications. A file is a format, or two of one tool.
package web

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// Formats are the formats of this package.
func Formats() []kit.Format {
	return []kit.Format{
		acunetix(), acunetix360(), arachni(), burp(), burpAPI(), ffuf(), httpx(), katana(), nikto(), niktoJSON(), nuclei(),
		qualysWAS(), sqlmapCSV(), sqlmapLog(), wapiti(), wapitiJSON(), zap(), zapJSON(),
	}
}

// inRequest says where a parameter stands in a request, as far as the request shows it.
func inRequest(request, name string) string {
	head, body, _ := strings.Cut(strings.ReplaceAll(request, "\r\n", "\n"), "\n\n")
	line, headers, _ := strings.Cut(strings.TrimSpace(head), "\n")
	_, query, _ := strings.Cut(line, "?")
	query, _, _ = strings.Cut(query, " ")
	switch {
	case name == "":
	case hasPair(query, name):
		return "query"
	case strings.HasPrefix(strings.TrimSpace(body), "{") && strings.Contains(body, `"`+name+`"`):
		return "json"
	case hasPair(body, name) || strings.Contains(body, `name="`+name+`"`):
		return "form"
	}
	for header := range strings.SplitSeq(headers, "\n") {
		key, value, _ := strings.Cut(header, ":")
		if name != "" && strings.EqualFold(strings.TrimSpace(key), name) {
			return "header"
		}
		if strings.EqualFold(strings.TrimSpace(key), "cookie") && hasPair(strings.ReplaceAll(value, "; ", "&"), name) {
			return "cookie"
		}
	}
	return ""
}

// hasPair says whether a query has a name.
func hasPair(query, name string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if name != "" && (key == name || unescaped(key) == name) {
			return true
		}
	}
	return false
}

// method is the method of a request; empty when it begins like none.
func method(request string) string {
	word, _, found := strings.Cut(strings.TrimSpace(request), " ")
	if !found || len(word) > 20 || word != strings.ToUpper(word) || strings.ContainsAny(word, ":;\r\n") {
		return ""
	}
	return word
}
