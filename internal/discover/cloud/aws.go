package cloud

import (
	"cmp"
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/sigv4"
)

type aws struct {
	*Client
	keys sigv4.Keys
	base string // of all services; "": their public addresses
}

// awsRegion has the services without regions, and the list of regions.
const awsRegion = "us-east-1"

// openAWS logs in: with the keys, or with those of the role to assume.
func (c *Client) openAWS(ctx context.Context, a Account) (aws, error) {
	s := aws{c, sigv4.Keys{ID: a["aws_access_key"], Secret: a["aws_secret_key"], Token: a["aws_session_token"]},
		a.base("")}
	role := a["assume_role_arn"]
	if role == "" {
		return s, nil
	}
	var answer struct {
		ID     string `xml:"AssumeRoleResult>Credentials>AccessKeyId"`
		Secret string `xml:"AssumeRoleResult>Credentials>SecretAccessKey"`
		Token  string `xml:"AssumeRoleResult>Credentials>SessionToken"`
	}
	query := url.Values{
		"Action": {"AssumeRole"}, "Version": {"2011-06-15"}, "RoleArn": {role}, "DurationSeconds": {"3600"},
		"RoleSessionName": {cmp.Or(a["assume_role_session_name"], "vedette")},
	}
	if id := a["external_id"]; id != "" {
		query.Set("ExternalId", id)
	}
	err := s.call(ctx, "sts", awsRegion, "/", query, &answer)
	s.keys = sigv4.Keys{ID: answer.ID, Secret: answer.Secret, Token: answer.Token}
	return s, err
}

// call sends a signed request to a service of a region, and reads XML.
func (s aws) call(ctx context.Context, service, region, path string, query url.Values, out any) error {
	host := service + "." + region + ".amazonaws.com"
	if service == "route53" {
		host = "route53.amazonaws.com"
	}
	base, err := url.Parse(cmp.Or(s.base, "https://"+host))
	if err != nil {
		return err
	}
	keys, text := s.keys, strings.ReplaceAll(query.Encode(), "+", "%20")
	keys.Region, keys.Service = region, service
	header := http.Header{"Accept": {"application/xml"}} // else some services answer JSON
	path = base.EscapedPath() + path
	for _, h := range keys.Sign(sigv4.Request{Method: http.MethodGet, Host: base.Host, Path: path, Query: text},
		time.Now()) {
		header.Set(h[0], h[1])
	}
	return s.do(ctx, s.client, apiclient.Request{
		Service: "AWS " + service, Method: http.MethodGet, URL: base.Scheme + "://" + base.Host + path + "?" + text,
		Header:  header,
		Secrets: []string{keys.Secret, keys.Token}, Decode: xml.Unmarshal,
	}, out)
}

// verifyAWS asks the Security Token Service who we are, which every identity may.
func (c *Client) verifyAWS(ctx context.Context, a Account) (string, error) {
	s, err := c.openAWS(ctx, a)
	if err != nil {
		return "", err
	}
	var answer struct {
		Arn string `xml:"GetCallerIdentityResult>Arn"`
	}
	err = s.call(ctx, "sts", awsRegion, "/", url.Values{"Action": {"GetCallerIdentity"}, "Version": {"2011-06-15"}},
		&answer)
	return "we are " + answer.Arn, err
}

// listAWS lists the machines of EC2, reserved addresses and load balancers in all enabled regions, and the names in
// public zones of Route 53.
func (c *Client) listAWS(ctx context.Context, a Account, into *inventory) error {
	s, err := c.openAWS(ctx, a)
	if err != nil {
		return err
	}
	var regions struct {
		Names []string `xml:"regionInfo>item>regionName"`
	}
	if err := s.call(ctx, "ec2", awsRegion, "/", ec2("DescribeRegions", ""), &regions); err != nil {
		into.addError(err)
		regions.Names = []string{awsRegion}
	}
	for _, region := range regions.Names {
		if !isRegion(region) {
			continue
		}
		for _, read := range []func(context.Context, string, *inventory) error{s.machines, s.reserved, s.balancers} {
			into.addError(read(ctx, region, into))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return s.zones(ctx, into)
}

// isRegion reports whether a text looks like a region: it becomes part of a host name.
func isRegion(text string) bool {
	strange := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }
	return text != "" && !strings.ContainsFunc(text, strange)
}

func ec2(action, next string) url.Values {
	query := url.Values{"Action": {action}, "Version": {"2016-11-15"}}
	if next != "" {
		query.Set("NextToken", next)
	}
	return query
}

func (s aws) machines(ctx context.Context, region string, into *inventory) error {
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
		err := s.call(ctx, "ec2", region, "/", query, &answer)
		for _, m := range answer.Machines {
			into.public(m.Address)
			into.name(m.Name)
			for _, address := range m.V6 {
				into.public(address)
			}
		}
		next = answer.Next
		return next != "" && !into.full(), err
	})
}

func (s aws) reserved(ctx context.Context, region string, into *inventory) error {
	var answer struct {
		Addresses []string `xml:"addressesSet>item>publicIp"`
	}
	err := s.call(ctx, "ec2", region, "/", ec2("DescribeAddresses", ""), &answer)
	for _, address := range answer.Addresses {
		into.public(address)
	}
	return err
}

func (s aws) balancers(ctx context.Context, region string, into *inventory) error {
	query := url.Values{"Action": {"DescribeLoadBalancers"}, "Version": {"2015-12-01"}, "PageSize": {"200"}}
	return eachPage(func(int) (bool, error) {
		var answer struct {
			Balancers []struct {
				Name   string `xml:"DNSName"`
				Scheme string `xml:"Scheme"`
			} `xml:"DescribeLoadBalancersResult>LoadBalancers>member"`
			Next string `xml:"DescribeLoadBalancersResult>NextMarker"`
		}
		err := s.call(ctx, "elasticloadbalancing", region, "/", query, &answer)
		for _, one := range answer.Balancers {
			if one.Scheme != "internal" {
				into.name(one.Name)
			}
		}
		query.Set("Marker", answer.Next)
		return answer.Next != "" && !into.full(), err
	})
}

func (s aws) zones(ctx context.Context, into *inventory) error {
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
		err := s.call(ctx, "route53", awsRegion, "/2013-04-01/hostedzone", query, &answer)
		for _, zone := range answer.Zones {
			if !zone.Private {
				zones = append(zones, strings.TrimPrefix(zone.ID, "/hostedzone/"))
			}
		}
		query.Set("marker", answer.Next)
		return answer.More && answer.Next != "", err
	}); err != nil {
		return err
	}
	return into.eachZone(zones, func(zone string) error { return s.records(ctx, zone, into) })
}

func (s aws) records(ctx context.Context, zone string, into *inventory) error {
	query := url.Values{"maxitems": {"300"}}
	return eachPage(func(int) (bool, error) {
		var answer struct {
			Records []struct{ Name, Type string } `xml:"ResourceRecordSets>ResourceRecordSet"`
			More    bool                          `xml:"IsTruncated"`
			Name    string                        `xml:"NextRecordName"`
			Type    string                        `xml:"NextRecordType"`
			ID      string                        `xml:"NextRecordIdentifier"`
		}
		err := s.call(ctx, "route53", awsRegion, "/2013-04-01/hostedzone/"+url.PathEscape(zone)+"/rrset", query, &answer)
		for _, r := range answer.Records {
			into.record(r.Type, r.Name)
		}
		query = url.Values{"maxitems": {"300"}, "name": {answer.Name}, "type": {answer.Type}}
		if answer.ID != "" {
			query.Set("identifier", answer.ID)
		}
		return answer.More && !into.full(), err
	})
}
