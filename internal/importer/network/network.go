// Package network reads the reports of tools that look at hosts, ports and their services. A file is a format, or
// two of one tool.
package network

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// Formats are the formats of this package.
func Formats() []kit.Format {
	return []kit.Format{
		masscan(), masscanXML(), naabu(), nessus(), nessusCSV(), nmap(), openvas(), openvasCSV(), qualys(), qualysCSV(),
		sshAudit(), sslscan(), sslyze(), sslyzeXML(), subfinder(), testssl(), testsslCSV(), tlsx(),
	}
}

// openPort begins the record of a port that answers.
func openPort(r kit.Record, host, ip string, port int, protocol, service string) kit.Record {
	r.Check = "open-port"
	r.Title = "Open port"
	if port > 0 {
		r.Title = "Open port " + kit.Number(port) + "/" + protocol
	}
	if service != "" {
		r.Title += " (" + service + ")"
	}
	r.Class, r.Severity, r.Status = kit.ClassExposure, kit.Info, kit.Open
	r.Place = kit.Place{Host: host, IP: ip, Port: port, Protocol: protocol, Service: service}
	return r
}

// serviceClass is the class of a finding about a service: with a CVE, or about its settings.
func serviceClass(r kit.Record) kit.Class {
	if len(r.CVEs) > 0 {
		return kit.ClassCVE
	}
	return kit.ClassConfig
}

// words parts a list with commas, semicolons or line ends.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == ';' || r == '|' })
}
