package names

import (
	"strings"

	"github.com/miekg/dns"
)

// service is one whose customers' names anybody can claim once they are given up.
type service struct {
	name   string
	suffix []string // of the names that its customers point at
	gone   bool     // a name that was given up does not exist any more
	page   string   // or is answered with a page that has these words
}

// dangling says in words where a CNAME leads that leads to nothing, or returns "".
func dangling(f found) string {
	if len(f.chain) == 0 {
		return ""
	}
	end := f.chain[len(f.chain)-1]
	switch {
	case f.loop:
		return "the chain of CNAMEs leads back into itself at " + end
	case f.rcode != dns.RcodeNameError:
		return ""
	}
	for _, target := range f.chain {
		if s := serviceOf(target); s != nil && s.gone {
			return s.name + ": " + target + " does not exist and can be claimed"
		}
	}
	return end + " does not exist"
}

// Unclaimed names the service that a chain of CNAMEs leads to when the page it answers
// with says that nobody holds the name there (such as GitHub Pages); otherwise it
// returns "". body is the beginning of the answer to a request for that name.
func Unclaimed(chain []string, body string) string {
	for _, target := range chain {
		if s := serviceOf(target); s != nil && s.page != "" && strings.Contains(body, s.page) {
			return s.name + ": " + target + " is not held by anybody and can be claimed"
		}
	}
	return ""
}

func serviceOf(target string) *service {
	for i := range services {
		for _, suffix := range services[i].suffix {
			if strings.HasSuffix(target, suffix) {
				return &services[i]
			}
		}
	}
	return nil
}

// services are those where this is known to work: what DNS or the page says of a name
// that nobody holds is observable by anyone.
var services = []service{
	{name: "AWS Elastic Beanstalk", suffix: []string{".elasticbeanstalk.com"}, gone: true},
	{name: "AWS S3", suffix: []string{".s3.amazonaws.com", ".s3-website.amazonaws.com"}, gone: true, page: "NoSuchBucket"},
}
