package names

import (
	"strings"

	"github.com/miekg/dns"
)

// service is one whose names others can claim when a customer gives them up.
type service struct {
	name     string
	suffix   []string // of the names of its customers
	nxdomain bool     // a name that was given up does not exist
	page     string   // or it shows a page with these words
}

// dangling says where a CNAME leads to nothing; "": it does not.
func dangling(f lookupResult) string {
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
		if s := serviceOf(target); s != nil && s.nxdomain {
			return s.name + ": " + target + " does not exist and can be claimed"
		}
	}
	return end + " does not exist"
}

// Unclaimed names the service of a chain of CNAMEs whose page says that the name can be claimed there; "": none. body
// is the beginning of the page.
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

// services are those where this works: DNS or the page shows that a name is free.
var services = []service{
	{name: "AWS Elastic Beanstalk", suffix: []string{".elasticbeanstalk.com"}, nxdomain: true},
	{name: "AWS S3", suffix: []string{".s3.amazonaws.com"}, page: "NoSuchBucket"},
	{name: "Microsoft Azure", nxdomain: true, suffix: []string{
		".azurewebsites.net", ".cloudapp.net", ".cloudapp.azure.com", ".azureedge.net", ".trafficmanager.net",
		".blob.core.windows.net",
		".azure-api.net", ".azurehdinsight.net", ".azurecr.io", ".redis.cache.windows.net", ".search.windows.net",
		".servicebus.windows.net", ".database.windows.net", ".azuredatalakestore.net", ".azurecontainer.io", ".azurefd.net",
	}},
	{name: "GitHub Pages", suffix: []string{".github.io"}, page: "There isn't a GitHub Pages site here."},
	{name: "Heroku", suffix: []string{".herokuapp.com", ".herokudns.com"}, page: "No such app"},
	{name: "Shopify", suffix: []string{".myshopify.com"}, page: "Sorry, this shop is currently unavailable."},
	{name: "Pantheon", suffix: []string{".pantheonsite.io"}, page: "The gods are wise"},
	{name: "Bitbucket", suffix: []string{".bitbucket.io"}, page: "Repository not found"},
	{name: "Surge.sh", suffix: []string{".surge.sh"}, page: "project not found"},
	{name: "Ghost", suffix: []string{".ghost.io"}, page: "Failed to resolve DNS path for this host"},
	{name: "Help Scout", suffix: []string{".helpscoutdocs.com"}, page: "No settings were found for this company:"},
	{name: "HatenaBlog", suffix: []string{".hatenablog.com"}, page: "404 Blog is not found"},
	{name: "JetBrains YouTrack", suffix: []string{".youtrack.cloud", ".myjetbrains.com"},
		page: "is not a registered InCloud YouTrack"},
	{name: "LaunchRock", suffix: []string{".launchrock.com"},
		page: "It looks like you may have taken a wrong turn somewhere"},
	{name: "Netlify", suffix: []string{".netlify.app", ".netlify.com"}, page: "Not Found - Request ID:"},
	{name: "ngrok", suffix: []string{".ngrok.io", ".ngrok-free.app"}, page: "ERR_NGROK_3200"},
	{name: "Read the Docs", suffix: []string{".readthedocs.io"},
		page: "The link you have followed or the URL that you entered does not exist"},
	{name: "Strikingly", suffix: []string{".s.strikinglydns.com", ".strikingly.com"}, page: "PAGE NOT FOUND."},
	{name: "Tumblr", suffix: []string{".tumblr.com"},
		page: "Whatever you were looking for doesn't currently exist at this address"},
	{name: "UptimeRobot", suffix: []string{"stats.uptimerobot.com"}, page: "page not found"},
	{name: "Webflow", suffix: []string{".webflow.io", "proxy-ssl.webflow.com"},
		page: "The page you are looking for doesn't exist or has been moved."},
	{name: "WordPress.com", suffix: []string{".wordpress.com"}, page: "Do you want to register"},
	{name: "Agile CRM", suffix: []string{".agilecrm.com"}, page: "Sorry, this page is no longer available."},
	{name: "Airee.ru", suffix: []string{".airee.ru"},
		page: "Ошибка 402. Сервис Айри.рф не оплачен"},
	{name: "Anima", suffix: []string{".animaapp.io"}, page: "The page you were looking for does not exist."},
	{name: "Campaign Monitor", suffix: []string{".createsend.com"}, page: "Trying to access your account?"},
	{name: "Discourse", suffix: []string{".trydiscourse.com"}, nxdomain: true},
	{name: "SmartJobBoard", suffix: []string{".smartjobboard.com"},
		page: "This job board website is either expired or its domain name is invalid."},
	{name: "Uberflip", suffix: []string{".uberflip.com"}, page: "The URL you've accessed does not provide a hub."},
	{name: "Worksites", suffix: []string{".worksites.net"}, page: "Hello! Sorry, but the website you"},
}
