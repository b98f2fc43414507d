package tcp

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// webPorts are the ports that a URL has for the sake of HTTP or DNS, not because an operator chose them for the service
// of a template.
var webPorts = []string{"80", "443", "8080", "8443", "8081", "53"}

// services are names of ports beside those of /etc/services.
var services = map[string]string{
	"ftp": "21", "ssh": "22", "telnet": "23", "smtp": "25", "domain": "53", "http": "80", "pop3": "110", "imap": "143",
	"snmp": "161", "ldap": "389", "https": "443", "smb": "445", "ldaps": "636", "imaps": "993", "pop3s": "995",
	"mssql": "1433", "oracle": "1521", "mqtt": "1883", "nfs": "2049", "mysql": "3306", "rdp": "3389",
	"postgres": "5432", "postgresql": "5432", "amqp": "5672", "vnc": "5900", "redis": "6379", "elasticsearch": "9200",
	"memcached": "11211", "mongodb": "27017",
}

// Ports reads a list of ports, numbers or names of services, with commas; each once.
func Ports(list string) (ports []string, err error) {
	for text := range strings.SplitSeq(list, ",") {
		text = strings.ToLower(strings.TrimSpace(text))
		if text == "" {
			continue
		}
		port, known := services[text]
		if !known {
			n, err := strconv.Atoi(text)
			if err != nil {
				n, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", text) // in /etc/services
			}
			if err != nil || n < 1 || n > 65535 {
				return nil, fmt.Errorf("%q is no port and no known service", text)
			}
			port = strconv.Itoa(n)
		}
		if !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports, nil
}

// Targets are the host:port to talk to: each of the ports on a target that names none, or whose URL has one of the
// replaced ports; else the target's own (template language 3.2). Without a port at all it is the host.
func Targets(target rawurl.URL, ports, replaced []string) []string {
	host, own := target.Hostname(), target.ExplicitPort()
	if own == "" && target.Scheme == "https" {
		own = "443"
	}
	url := target.Scheme != ""
	if len(ports) == 0 || own != "" && (!url || !slices.Contains(replaced, own)) {
		if own == "" {
			return []string{target.Host}
		}
		return []string{net.JoinHostPort(host, own)}
	}
	all := make([]string, len(ports))
	for i, port := range ports {
		all[i] = net.JoinHostPort(host, port)
	}
	return all
}
