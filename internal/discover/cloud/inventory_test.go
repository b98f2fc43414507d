package cloud

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/sigv4"
)

// fakeClouds speaks as AWS, Google and Azure do, in the shapes that they document.
type fakeClouds struct {
	*httptest.Server
	busy   atomic.Int32 // so many calls are too much
	denied atomic.Value // an action that our key may not do
}

func openFakeClouds(t *testing.T) *fakeClouds {
	s := new(fakeClouds)
	s.denied.Store("")
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := s.elsewhere
		if strings.HasPrefix(r.Header.Get("Authorization"), "AWS4") {
			answer = s.amazon
		}
		status, text := answer(r)
		if s.busy.Add(-1) >= 0 {
			status, text = http.StatusServiceUnavailable,
				`<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slow down</Message></Error></Errors></Response>`
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

// amazon answers to who signs as AKIA with the secret s3cret, or with the keys of a role.
func (s *fakeClouds) amazon(r *http.Request) (int, string) {
	scope := strings.Split(strings.TrimPrefix(strings.Split(r.Header.Get("Authorization"), ",")[0],
		"AWS4-HMAC-SHA256 Credential="), "/")
	keys := sigv4.Keys{ID: scope[0], Secret: map[string]string{"AKIA": "s3cret", "ROLE": "r0le"}[scope[0]],
		Token: map[string]string{"ROLE": "t0ken"}[scope[0]], Region: scope[2], Service: scope[3]}
	at, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	again := keys.Sign(sigv4.Request{Method: r.Method, Host: r.Host, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery}, at)
	if !slices.ContainsFunc(again, func(h [2]string) bool { return h[1] == r.Header.Get("Authorization") }) ||
		keys.Secret == "" {
		return http.StatusForbidden, `<ErrorResponse><Error><Type>Sender</Type><Code>SignatureDoesNotMatch</Code><Message>not by wr0ng</Message></Error></ErrorResponse>`
	}
	q := r.URL.Query()
	action := keys.Service + " " + keys.Region + " " + r.URL.Path + q.Get("Action") + q.Get("NextToken") +
		q.Get("Marker") + q.Get("name")
	if denied := s.denied.Load().(string); denied != "" && strings.Contains(action, denied) {
		return http.StatusForbidden, `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You may not.</Message></Error></Errors></Response>`
	}
	machine := func(address, name string) string {
		return "<item><instancesSet><item><ipAddress>" + address + "</ipAddress><dnsName>" + name +
			"</dnsName><networkInterfaceSet><item><ipv6AddressesSet><item><ipv6Address>2001:db9::7</ipv6Address></item></ipv6AddressesSet></item></networkInterfaceSet></item></instancesSet></item>"
	}
	text, ok := map[string]string{
		"sts us-east-1 /GetCallerIdentity": "<R><GetCallerIdentityResult><Arn>arn:aws:iam::1:user/" + scope[0] +
			"</Arn></GetCallerIdentityResult></R>",
		"sts us-east-1 /AssumeRole": "<R><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>r0le</SecretAccessKey><SessionToken>t0ken</SessionToken></Credentials></AssumeRoleResult></R>",
		"ec2 us-east-1 /DescribeRegions": `<DescribeRegionsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><regionInfo><item><regionName>us-east-1</regionName></item><item><regionName>eu-west-1</regionName></item>
			<item><regionName>evil.example.com/</regionName></item></regionInfo></DescribeRegionsResponse>`,
		"ec2 us-east-1 /DescribeInstances": "<R><reservationSet>" +
			machine("3.3.3.1", "ec2-3-3-3-1.compute-1.amazonaws.com") + machine("", "") +
			"</reservationSet><nextToken>more</nextToken></R>",
		"ec2 us-east-1 /DescribeInstancesmore": "<R><reservationSet>" + machine("3.3.3.2", "") +
			"</reservationSet></R>",
		"ec2 eu-west-1 /DescribeInstances": "<R><reservationSet>" +
			machine("10.0.0.9", "ip-10-0-0-9.internal.") + "</reservationSet></R>",
		"ec2 us-east-1 /DescribeAddresses":                                   "<R><addressesSet><item><publicIp>3.3.3.3</publicIp></item></addressesSet></R>",
		"ec2 eu-west-1 /DescribeAddresses":                                   "<R/>",
		"elasticloadbalancing us-east-1 /DescribeLoadBalancers":              "<R><DescribeLoadBalancersResult><LoadBalancers><member><DNSName>LB-1.elb.amazonaws.com</DNSName><Scheme>internet-facing</Scheme></member></LoadBalancers><NextMarker>n</NextMarker></DescribeLoadBalancersResult></R>",
		"elasticloadbalancing us-east-1 /DescribeLoadBalancersn":             "<R><DescribeLoadBalancersResult><LoadBalancers><member><DNSName>inner.elb.amazonaws.com</DNSName><Scheme>internal</Scheme></member></LoadBalancers></DescribeLoadBalancersResult></R>",
		"elasticloadbalancing eu-west-1 /DescribeLoadBalancers":              "<R/>",
		"route53 us-east-1 /2013-04-01/hostedzone":                           "<R><HostedZones><HostedZone><Id>/hostedzone/Z1</Id><Config><PrivateZone>false</PrivateZone></Config></HostedZone><HostedZone><Id>/hostedzone/Z2</Id><Config><PrivateZone>true</PrivateZone></Config></HostedZone></HostedZones><IsTruncated>false</IsTruncated></R>",
		"route53 us-east-1 /2013-04-01/hostedzone/Z1/rrset":                  `<R><ResourceRecordSets><ResourceRecordSet><Name>WWW.example.com.</Name><Type>A</Type></ResourceRecordSet><ResourceRecordSet><Name>example.com.</Name><Type>MX</Type></ResourceRecordSet></ResourceRecordSets><IsTruncated>true</IsTruncated><NextRecordName>\052.example.com.</NextRecordName><NextRecordType>A</NextRecordType></R>`,
		`route53 us-east-1 /2013-04-01/hostedzone/Z1/rrset\052.example.com.`: `<R><ResourceRecordSets><ResourceRecordSet><Name>\052.example.com.</Name><Type>A</Type></ResourceRecordSet><ResourceRecordSet><Name>shop.example.com.</Name><Type>CNAME</Type></ResourceRecordSet></ResourceRecordSets></R>`,
	}[action]
	if !ok {
		return http.StatusBadRequest, "<R><Code>InvalidAction</Code><Message>" + action + "</Message></R>"
	}
	return http.StatusOK, text
}

// elsewhere is Google, and Azure under /t/oauth2, /subscriptions.
func (s *fakeClouds) elsewhere(r *http.Request) (int, string) {
	_ = r.ParseForm()
	if r.Method == http.MethodPost {
		if r.Form.Get("client_secret") == "s3cret" || strings.Count(r.Form.Get("assertion"), ".") == 2 {
			return http.StatusOK, `{"access_token": "g00d", "expires_in": 3599}`
		}
		return http.StatusUnauthorized, `{"error": "invalid_client", "error_description": "AADSTS7000215: not wr0ng"}`
	}
	if r.Header.Get("Authorization") != "Bearer g00d" {
		return http.StatusUnauthorized, `{"error": {"code": 401, "status": "UNAUTHENTICATED"}}`
	}
	at := r.URL.Path + r.Form.Get("pageToken") + r.Form.Get("skip")
	if denied := s.denied.Load().(string); denied != "" && strings.Contains(at+"!", denied) {
		return http.StatusForbidden, `{"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "not this"}}`
	}
	const compute, dns, network = "/compute/v1/projects/own/aggregated/", "/dns/v1/projects/own/managedZones",
		"/subscriptions/s1/providers/Microsoft.Network/"
	const zone = "/subscriptions/s1/resourceGroups/g/providers/Microsoft.Network/dnszones/example.net"
	text, ok := map[string]string{
		"/v1/projects":                 `{"projects": [{"projectId": "own"}]}`,
		compute + "instances":          `{"nextPageToken": "p2", "items": {"zones/a": {"instances": [{"networkInterfaces": [{"accessConfigs": [{"natIP": "34.1.1.1"}], "ipv6AccessConfigs": [{"externalIpv6": "2600:1900::1"}]}]}]}, "zones/b": {"warning": {}}}}`,
		compute + "instancesp2":        `{"items": {"zones/c": {"instances": [{"networkInterfaces": [{"accessConfigs": [{}, {"natIP": "34.1.1.2"}]}]}]}}}`,
		compute + "forwardingRules":    `{"items": {"global": {"forwardingRules": [{"IPAddress": "35.1.1.1"}, {"IPAddress": "10.1.1.1"}]}}}`,
		dns:                            `{"managedZones": [{"name": "z", "visibility": "public"}, {"name": "inner", "visibility": "private"}]}`,
		dns + "/z/rrsets":              `{"rrsets": [{"name": "api.example.org.", "type": "A"}, {"name": "example.org.", "type": "SOA"}, {"name": "*.example.org.", "type": "A"}]}`,
		"/subscriptions":               `{"value": [{"subscriptionId": "s1"}]}`,
		network + "publicIPAddresses":  `{"value": [{"properties": {"ipAddress": "20.1.1.1", "dnsSettings": {"fqdn": "vm.westeurope.cloudapp.azure.com"}}}, {"properties": {}}], "nextLink": "` + s.URL + network + `publicIPAddresses?skip=2"}`,
		network + "publicIPAddresses2": `{"value": [{"properties": {"ipAddress": "20.1.1.2"}}], "nextLink": "http://127.0.0.1:1/steal"}`,
		network + "dnszones":           `{"value": [{"id": "` + zone + `"}, {"id": "/../../elsewhere"}]}`,
		zone + "/recordsets":           `{"value": [{"type": "Microsoft.Network/dnszones/A", "properties": {"fqdn": "www.example.net."}}, {"type": "Microsoft.Network/dnszones/TXT", "properties": {"fqdn": "t.example.net."}}]}`,
	}[at]
	if !ok {
		return http.StatusNotFound, `{"error": {"code": "NotFound", "message": "` + at + `"}}`
	}
	return http.StatusOK, text
}

var (
	amazonHosts = []string{"2001:db9::7", "3.3.3.1", "3.3.3.2", "3.3.3.3", "ec2-3-3-3-1.compute-1.amazonaws.com",
		"ip-10-0-0-9.internal", "lb-1.elb.amazonaws.com", "shop.example.com", "www.example.com"}
	googleHosts = []string{"2600:1900::1", "34.1.1.1", "34.1.1.2", "35.1.1.1", "api.example.org"}
	azureHosts  = []string{"20.1.1.1", "20.1.1.2", "vm.westeurope.cloudapp.azure.com", "www.example.net"}
)

// TestInventoriesOfClouds reads each provider's inventory: all pages, with calls that were
// too much sent again, and with an honest state where something cannot be read.
func TestInventoriesOfClouds(t *testing.T) {
	s := openFakeClouds(t)
	google := Account{"provider": "gcp",
		"gcp_service_account_key": strings.Replace(serviceKey(t), "{", `{"project_id": "own",`, 1)}
	aws := func(id, secret string) Account {
		return Account{"provider": "aws", "aws_access_key": id, "aws_secret_key": secret}
	}
	role := aws("AKIA", "s3cret")
	role["assume_role_arn"] = "arn:aws:iam::2:role/reader"
	azure := func(secret string) Account {
		return Account{"provider": "azure", "tenant_id": "t", "client_id": "c", "client_secret": secret}
	}
	without := func(all []string, some ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(host string) bool { return slices.Contains(some, host) })
	}
	for _, c := range []struct {
		name    string
		account Account
		busy    int32
		denied  string
		want    []string
		state   discover.SourceState
	}{
		{"aws", aws("AKIA", "s3cret"), 0, "", amazonHosts, discover.SourceOK},
		{"aws as a role", role, 0, "", amazonHosts, discover.SourceOK},
		{"aws, busy at first", aws("AKIA", "s3cret"), 3, "", amazonHosts, discover.SourceOK},
		{"aws, too busy", aws("AKIA", "s3cret"), 1000, "", nil, discover.SourceLimited},
		{"aws, a wrong key", aws("AKIA", "wr0ng"), 0, "", nil, discover.SourceKey},
		{"aws, no load balancers for us", aws("AKIA", "s3cret"), 0, "DescribeLoadBalancers",
			without(amazonHosts, "lb-1.elb.amazonaws.com"), discover.SourceBlocked},
		{"gcp", google, 2, "", googleHosts, discover.SourceOK},
		{"gcp, no list of projects", google, 0, "/v1/projects!", googleHosts, discover.SourceOK},
		{"gcp, no zones for us", google, 0, "managedZones", without(googleHosts, "api.example.org"), discover.SourceBlocked},
		{"azure", azure("s3cret"), 1, "", azureHosts, discover.SourceOK},
		{"azure, a wrong secret", azure("wr0ng"), 0, "", nil, discover.SourceKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.busy.Store(c.busy)
			s.denied.Store(c.denied)
			c.account["base_url"] = s.URL
			client := New(loopback())
			client.wait = time.Microsecond
			found := inventory{known: map[string]bool{}}
			found.addError(providers[c.account["provider"]].list(client, t.Context(), c.account, &found))
			got, err := found.hosts, found.err
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, %v", got, err)
			}
			state := discover.SourceOK
			if err != nil {
				state = stateOf(err)
				for _, secret := range []string{"s3cret", "wr0ng", "g00d", "PRIVATE"} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("%v tells %s", err, secret)
					}
				}
			}
			if state != c.state {
				t.Errorf("%s, want %s: %v", state, c.state, err)
			}
		})
	}
	far := azure("s3cret")
	far["base_url"] = s.URL
	if err := New(&netguard.Guard{}).listAzure(t.Context(), far, &inventory{}); err == nil ||
		stateOf(err) != discover.SourceBlocked {
		t.Errorf("dials refused: %v", err)
	}
}

// loopback is a guard that lets tests dial their own servers.
func loopback() *netguard.Guard {
	return &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}
