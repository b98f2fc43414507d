package jobs

import (
	"cmp"
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// amazon is an account of AWS with the keys that read it.
type amazon struct {
	clouds
	keys web.AWS
	base string // where all services are; empty: at their public addresses
}

// amazonRegion is where services are that have no region, and where we ask for regions.
const amazonRegion = "us-east-1"

// openAmazon logs in: with the keys as they are, or with those of the role that they are
// to assume.
func (c clouds) openAmazon(ctx context.Context, b block) (amazon, error) {
	a := amazon{c, web.AWS{ID: b["aws_access_key"], Secret: b["aws_secret_key"], Token: b["aws_session_token"]}, b.base("")}
	role := b["assume_role_arn"]
	if role == "" {
		return a, nil
	}
	var answer struct {
		ID     string `xml:"AssumeRoleResult>Credentials>AccessKeyId"`
		Secret string `xml:"AssumeRoleResult>Credentials>SecretAccessKey"`
		Token  string `xml:"AssumeRoleResult>Credentials>SessionToken"`
	}
	query := url.Values{"Action": {"AssumeRole"}, "Version": {"2011-06-15"}, "RoleArn": {role}, "RoleSessionName": {cmp.Or(b["assume_role_session_name"], "vedette")}, "DurationSeconds": {"3600"}}
	if id := b["external_id"]; id != "" {
		query.Set("ExternalId", id)
	}
	err := a.call(ctx, "sts", amazonRegion, "/", query, &answer)
	a.keys = web.AWS{ID: answer.ID, Secret: answer.Secret, Token: answer.Token}
	return a, err
}

// call asks a service of a region, with a signature (Signature Version 4), and reads XML.
func (a amazon) call(ctx context.Context, service, region, path string, query url.Values, out any) error {
	host := service + "." + region + ".amazonaws.com"
	if service == "route53" {
		host = "route53.amazonaws.com"
	}
	at := cmp.Or(a.base, "https://"+host) + path + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
	request := func() (*http.Request, error) {
		address, err := rawurl.Parse(at)
		if err != nil {
			return nil, err
		}
		signed, keys := web.Request{Address: address}, a.keys
		keys.Region, keys.Service = region, service
		keys.Sign(&signed, time.Now())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, err
		}
		for _, line := range signed.Headers {
			req.Header.Set(line.Name, line.Value)
		}
		return req, nil
	}
	return a.ask(ctx, "AWS "+service, []string{a.keys.Secret, a.keys.Token}, request, func(text []byte) error { return xml.Unmarshal(text, out) })
}

// aws asks the Security Token Service who we are (GetCallerIdentity), which every identity
// may; a role is assumed before.
func (c clouds) aws(ctx context.Context, b block) (string, error) {
	a, err := c.openAmazon(ctx, b)
	if err != nil {
		return "", err
	}
	var answer struct {
		Arn string `xml:"GetCallerIdentityResult>Arn"`
	}
	err = a.call(ctx, "sts", amazonRegion, "/", url.Values{"Action": {"GetCallerIdentity"}, "Version": {"2011-06-15"}}, &answer)
	return "we are " + answer.Arn, err
}

// instances are what an account of AWS shows the internet: addresses and names of EC2's
// machines, addresses that are reserved, load balancers, and the names in the public zones
// of Route 53. Regions that are not enabled are passed over.
func (c clouds) instances(ctx context.Context, b block) ([]string, error) {
	a, err := c.openAmazon(ctx, b)
	if err != nil {
		return nil, err
	}
	var h harvest
	var regions struct {
		Names []string `xml:"regionInfo>item>regionName"`
	}
	if err := a.call(ctx, "ec2", amazonRegion, "/", ec2("DescribeRegions", ""), &regions); err != nil {
		h.failed(err)
		regions.Names = []string{amazonRegion}
	}
	for _, region := range regions.Names {
		if !amazonName(region) {
			continue
		}
		for _, read := range []func(context.Context, string, *harvest) error{a.machines, a.reserved, a.balancers} {
			if err := read(ctx, region, &h); err != nil {
				h.failed(err)
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := a.zones(ctx, &h); err != nil {
		h.failed(err)
	}
	return h.hosts, h.err
}

// amazonName reports whether a region is called as regions are: it becomes part of a host.
func amazonName(region string) bool {
	return region != "" && !strings.ContainsFunc(region, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' })
}

func ec2(action, next string) url.Values {
	query := url.Values{"Action": {action}, "Version": {"2016-11-15"}}
	if next != "" {
		query.Set("NextToken", next)
	}
	return query
}

func (a amazon) machines(ctx context.Context, region string, h *harvest) error {
	next := ""
	return eachPage(func(int) (bool, error) {
		var answer struct {
			Machines []struct {
				Address string   `xml:"ipAddress"`
				Name    string   `xml:"dnsName"`
				V6      []string `xml:"networkInterfaceSet>item>ipv6AddressesSet>item>ipv6Address"`
			} `xml:"reservationSet>item>instancesSet>item"`
			Next string `xml:"nextToken"`
		}
		query := ec2("DescribeInstances", next)
		query.Set("MaxResults", "200")
		err := a.call(ctx, "ec2", region, "/", query, &answer)
		for _, m := range answer.Machines {
			h.address(m.Address)
			h.name(m.Name)
			for _, address := range m.V6 {
				h.address(address)
			}
		}
		next = answer.Next
		return next != "" && !h.full(), err
	})
}

func (a amazon) reserved(ctx context.Context, region string, h *harvest) error {
	var answer struct {
		Addresses []string `xml:"addressesSet>item>publicIp"`
	}
	err := a.call(ctx, "ec2", region, "/", ec2("DescribeAddresses", ""), &answer)
	for _, address := range answer.Addresses {
		h.address(address)
	}
	return err
}

func (a amazon) balancers(ctx context.Context, region string, h *harvest) error {
	next := ""
	return eachPage(func(int) (bool, error) {
		var answer struct {
			Balancers []struct {
				Name   string `xml:"DNSName"`
				Scheme string `xml:"Scheme"`
			} `xml:"DescribeLoadBalancersResult>LoadBalancers>member"`
			Next string `xml:"DescribeLoadBalancersResult>NextMarker"`
		}
		query := url.Values{"Action": {"DescribeLoadBalancers"}, "Version": {"2015-12-01"}, "PageSize": {"200"}}
		if next != "" {
			query.Set("Marker", next)
		}
		err := a.call(ctx, "elasticloadbalancing", region, "/", query, &answer)
		for _, one := range answer.Balancers {
			if one.Scheme != "internal" {
				h.name(one.Name)
			}
		}
		next = answer.Next
		return next != "" && !h.full(), err
	})
}

func (a amazon) zones(ctx context.Context, h *harvest) error {
	var zones []string
	query := url.Values{"maxitems": {"100"}}
	if err := eachPage(func(int) (bool, error) {
		var answer struct {
			Zones []struct {
				ID      string `xml:"Id"`
				Private bool   `xml:"Config>PrivateZone"`
			} `xml:"HostedZones>HostedZone"`
			More bool   `xml:"IsTruncated"`
			Next string `xml:"NextMarker"`
		}
		err := a.call(ctx, "route53", amazonRegion, "/2013-04-01/hostedzone", query, &answer)
		for _, zone := range answer.Zones {
			if id := strings.TrimPrefix(zone.ID, "/hostedzone/"); !zone.Private {
				zones = append(zones, id)
			}
		}
		query.Set("marker", answer.Next)
		return answer.More && answer.Next != "", err
	}); err != nil {
		return err
	}
	for _, zone := range zones {
		if err := a.zoneRecords(ctx, zone, h); err != nil || h.full() {
			return err
		}
	}
	return nil
}

func (a amazon) zoneRecords(ctx context.Context, zone string, h *harvest) error {
	query := url.Values{"maxitems": {"300"}}
	return eachPage(func(int) (bool, error) {
		var answer struct {
			Records []struct{ Name, Type string } `xml:"ResourceRecordSets>ResourceRecordSet"`
			More    bool                          `xml:"IsTruncated"`
			Name    string                        `xml:"NextRecordName"`
			Type    string                        `xml:"NextRecordType"`
			ID      string                        `xml:"NextRecordIdentifier"`
		}
		err := a.call(ctx, "route53", amazonRegion, "/2013-04-01/hostedzone/"+url.PathEscape(zone)+"/rrset", query, &answer)
		for _, r := range answer.Records {
			if pointsAt(r.Type) {
				h.name(r.Name)
			}
		}
		query = url.Values{"maxitems": {"300"}, "name": {answer.Name}, "type": {answer.Type}}
		if answer.ID != "" {
			query.Set("identifier", answer.ID)
		}
		return answer.More && !h.full(), err
	})
}

// pointsAt reports whether records of a type say where a host is.
func pointsAt(kind string) bool { return kind == "A" || kind == "AAAA" || kind == "CNAME" }
