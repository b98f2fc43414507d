package builtin

import (
	"regexp"
	"strings"
	"sync"
)

const maxPhrase = 5

// shape makes a regular expression at its first use: most runs of the binary read no instruction.
func shape(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func set(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return folded(list) })
}

func folded(lists ...string) map[string]bool {
	table := map[string]bool{}
	for _, list := range lists {
		for phrase := range strings.SplitSeq(list, ",") {
			table[foldPhrase(phrase)] = true
		}
	}
	return table
}

// phrases is a table of phrases and of their first words, so that most words need one lookup.
type phrases struct{ whole, first map[string]bool }

func phraseSet(lists ...string) func() phrases {
	return sync.OnceValue(func() phrases {
		p := phrases{whole: folded(lists...), first: map[string]bool{}}
		for phrase := range p.whole {
			start, _, _ := strings.Cut(phrase, " ")
			p.first[start] = true
		}
		return p
	})
}

// exact makes a table of unchanged words.
func exact(list string) map[string]bool {
	table := map[string]bool{}
	for w := range strings.SplitSeq(list, ",") {
		table[w] = true
	}
	return table
}

func foldPhrase(phrase string) string {
	words := strings.FieldsFunc(phrase, func(r rune) bool { return r == ' ' || r == '-' || r == '\n' || r == '\t' })
	for i := range words {
		words[i] = fold(words[i])
	}
	return strings.Join(words, " ")
}

// The tables of polarity.go.
var (
	// excludePhrases exclude what follows.
	excludePhrases = phraseSet("exception,with the exception of,except,except for,excepting,excluding,exclude,exclusion,excl,omit,omitting,skip,skipping,avoid,avoiding",
		"ignore,ignoring,leave out,leave alone,leaving out,leave,other than,apart from,aside from,save for,minus,but not,and not,not",
		"dont,do not,never,must not,mustnt,should not,shouldnt,may not,cannot,cant,can not,shall not,wont,will not,nor,neither",
		"stay away from,keep away from,keep clear of,steer clear of,stay off,keep off,stay out of,keep out of,hand off",
		"everything but,all but,anything but,any but,every host but,all hosts but,any host but,blacklist,denylist,blocklist,spare,w o",
		"rather than,instead of,no need to,no need for,need not,neednt,sans,exempt,exempting,refrain from,blacklisted,no go,no touch")
	// suffixPhrases exclude what comes before them or, in a heading, after them.
	suffixPhrases = phraseSet("out of scope,off limit,out of bound,forbidden,prohibited,excluded,not in scope,not allowed,left out,left alone",
		"skipped,ignored,avoided,omitted,untouched,not part of the scope")
	// statePhrases exclude only before a verb such as "scan".
	statePhrases = phraseSet("is not,isnt,are not,arent,was not,wasnt,were not,does not,doesnt,have not,havent,has not,hasnt,had not,did not,didnt")
	// neutralPhrases look like exclusions and are none.
	neutralPhrases = phraseSet("not sure,not only,not just,not merely,do not know,dont know,dont care,do not care,dont mind,do not mind,do not hesitate",
		"dont hesitate,why not,if not,whether or not,or not,dont worry,do not worry,no idea,no hurry,no problem,nothing but,dont forget,do not forget",
		"never forget,dont miss,do not miss,not yet,cant wait,cannot wait,have not been,has not been,havent been,hasnt been,cannot tell,cant tell",
		"not vulnerable,not secure,not exposed,not missing,not limited to,do not stop,dont stop")
	// checkPhrases begin a description of how things should be.
	checkPhrases = phraseSet("make sure,ensure,verify,confirm,check that,check if,check whether,whether,if,see if,see whether,assert,guarantee,there should be,should have")
	// mentionPhrases name what is not to be tested itself.
	mentionPhrases = phraseSet("see,see also,according to,described in,described at,documented at,documented in,documentation at,document at,reference",
		"background,more info,more information,further reading,detail at,as per,based on,read,powered by,report to,send result to,send the result to",
		"send the report to,send report to,post result to,post the result to,upload to,upload it to,upload the report to,notify,source,contact,refer to",
		"cc,send it to,send them to,post it to,linked from,as explained at,explained in,explained at,advisory,advisory at,writeup,writeup at")
	targetPrepositions = set("on,at,of,for,in,against,from")
	wholeWords         = set("everything,all,any,every,anything,whole,entire,each,rest")
	contrastWords      = set("but,however,instead,just,only,rather,otherwise,whereas,although")
	articles           = set("the,a,an,our,my,your,their,its,on,at,of,for,host,site,server,domain,url,address,subnet,network,range,to,in,any,is,are,ip,with")
	searchWords        = set("find,list,identify,detect,look,search,discover,which,any,enumerate,locate,hunt,show,spot,flag,if,whether,what")
	actionWords        = set("scan,test,check,probe,touch,attack,hit,access,visit,contact,crawl,assess,audit,include,find,look,verify,inspect,review,examine,run,request,target,go,analyse,analyze,evaluate,pentest,search,investigate,hunt,identify,detect,report,focus,use,send,list,mess,connect,approach,exceed,bother,enumerate,try,perform,query,reach,skip,scanning,testing,checking")
	scopeWords         = set("scope,ours,allowed,authorised,authorized,permitted,approved,cleared,owned,included,in,part,belong,available")
	linkWords          = set("is,are,be,should,must,may,to,also,both,all,strictly,remain,stay,which,that,this,these,those,has,have,been,will,can,completely,totally,explicitly,currently,it")
	headingWords       = set("target,scope,include,host,url,port,rate,time,severity,check,test,note,task,instruction,goal,domain,site,asset,address,in,limit,please,objective,intent,cve,what,focus,do,system,timeout,duration,depth,list,inscope,application")
)

// role is the meaning of a recognised phrase.
type role int

const (
	wants       role = iota // checks: values are template tags
	product                 // a technology: values are template tags
	bug                     // a known weakness: values are CVE ids
	all                     // every check, whatever else is named
	general                 // every check, unless particular ones are named
	unsupported             // not done by the built-in planner: values[0] is its key in refusals
	filler                  // words without a meaning for the plan
)

type entry struct {
	role   role
	values []string
}

var lexicon = sync.OnceValue(buildLexicon)

// lexiconStarts are the first words of the phrases.
var lexiconStarts = sync.OnceValue(func() map[string]bool {
	starts := map[string]bool{}
	for phrase := range lexicon() {
		start, _, _ := strings.Cut(phrase, " ")
		starts[start] = true
	}
	return starts
})

func buildLexicon() map[string]entry {
	table := map[string]entry{}
	put := func(r role, values, phrases string) {
		for phrase := range strings.SplitSeq(phrases, ",") {
			table[foldPhrase(phrase)] = entry{role: r, values: strings.Fields(values)}
		}
	}
	for _, row := range fillers {
		put(filler, "", row)
	}
	for _, row := range intents {
		put(wants, row[0], row[1])
	}
	for row := range strings.FieldsSeq(products) {
		put(product, row, row)
	}
	for _, row := range otherProducts {
		put(product, row[0], row[1])
	}
	for _, row := range bugs {
		put(bug, row[0], row[1])
	}
	put(all, "", fullChecks)
	put(general, "", generalChecks)
	for _, row := range unsupportedPhrases {
		put(unsupported, row[0], row[1])
	}
	return table
}

// intents are template tags and the phrases that ask for them.
var intents = [][2]string{
	{"panel", "panel,admin panel,admin page,admin interface,admin console,admin area,admin ui,admin login,administration panel,administration page,administration interface,administrative interface,administrative panel,login,login page,login form,login interface,login panel,login screen,login portal,sign in page,signin page,management interface,management console,management panel,management page,management ui,dashboard,control panel,web console,backoffice,back office,admin portal,admin backend,admin,administrator page,admin dashboard"},
	{"headers", "header,security header,http header,http security header,response header,hsts,csp,content security policy,x frame option,x content type option,referrer policy,permission policy,clickjacking,strict transport security,frame option"},
	{"cookies", "cookie,cookie flag,cookie attribute,session cookie,httponly,samesite,secure flag,cookie security,set cookie"},
	{"cors", "cors,cross origin,cross origin resource sharing,access control allow origin,cors policy,cors header,cross origin policy"},
	{"tls", "tls,ssl,certificate,cert,tls certificate,ssl certificate,https configuration,cipher,cipher suite,expired certificate,self signed certificate,x509,https setup,encryption,tls version,ssl version,tls config,ssl config,tls configuration,ssl configuration,protocol version,tls1.0,tlsv1,tlsv1.0,tlsv1.1,tls1.1,tlsv1.2,tls1.2,sslv3,sslv2"},
	{"exposure", "exposure,exposed file,sensitive file,sensitive data,sensitive information,exposed data,leaked file,leak,data leak,information leak,file leak,exposed resource,exposed document,exposed endpoint,exposed,anything exposed,forgotten file,hidden file,stray file,leaked data,file exposure,data exposure,interesting file,left over file,leftover file,leftover,exposed asset,exposed service,exposed api"},
	{"debug exposure version", "information disclosure,info disclosure,information exposure,info leak"},
	{"config exposure", "secret,exposed secret,leaked secret,api key,exposed credential,leaked credential,exposed key,hardcoded secret,exposed password,token leak,exposed token,leaked key,leaked token,leaked password"},
	{"listing", "directory listing,directory index,directory indexing,directory indexes,open directory,index of,autoindex,file listing,dir listing,browsable directory,listable directory,listing,folder listing,open folder,directory browsing,indexed directory"},
	{"vcs", ".git,.svn,.hg,git,svn,mercurial,git repo,git folder,git directory,version control,source control,.git directory,.git folder,.git repository,.git repo,exposed git repository,version control folder,version control directory,.bzr,exposed .git,dot git,.git/config,.git/head,git metadata,svn metadata,git repositories"},
	{"backup", "backup,backup file,backup archive,database dump,sql dump,db dump,old copy,archive,bak file,.bak,.sql,dump,.zip,zip file,backup copy,old file,backed up file,exposed backup,.old,.tar.gz,.swp,swap file,tarball"},
	{"config", "config file,configuration file,.env,env file,environment file,dotenv,web.config,wp config,configuration leak,.htaccess,.htpasswd,exposed config,exposed configuration,.env file,config leak,wp config.php,config.php,.aws,.npmrc,appsettings.json,settings.py,.env.local,.env.production,configs,exposed .env"},
	{"version", "version,version disclosure,banner,server banner,technology,tech stack,fingerprint,fingerprinting,software version,outdated software,server version,version banner,server header,version number,stack,version leak,what it run,technology detection,tech detection,outdated version,old version,software in use,technology in use,detect technology,out of date software,eol software,whats running,what software"},
	{"default-page", "default page,default install,default installation,welcome page,default site,it work page,default landing page,default index page,placeholder page,default web page,installation page,default welcome page,default content"},
	{"debug", "debug,debug page,debug mode,debug endpoint,stack trace,debugger,profiler,phpinfo,verbose error,error page,debug console,error message,trace,debugging,debug interface,phpinfo.php,debug info,debug information,debug output"},
	{"status-page", "status page,server status,server info,stub status,nginx status,metric,metric endpoint,health endpoint,monitoring page,monitoring endpoint,health check endpoint,status endpoint,apache status,metrics page,apache server status,server status page,/server status,fpm status"},
	{"sqli", "sql injection,sqli,blind sql injection,database injection"},
	{"xss", "xss,cross site scripting,reflected xss,stored xss,dom xss,script injection,html injection"},
	{"traversal", "path traversal,directory traversal,lfi,rfi,file inclusion,local file inclusion,remote file inclusion"},
	{"redirect", "open redirect,open redirection,unvalidated redirect"},
	{"ssrf", "ssrf,server side request forgery"},
	{"ssti", "ssti,template injection,server side template injection"},
	{"xxe", "xxe,xml external entity"}, {"csrf", "csrf,cross site request forgery"}, {"nosqli", "nosql injection"},
	{"cmdi", "command injection,os command injection,code injection"}, {"jwt", "jwt,json web token"},
	{"access", "idor,bola,bfla,mass assignment,access control,broken access control,insecure direct object reference," +
		"privilege escalation,forced browsing"},
	{"logic", "business logic,logic flaw,price manipulation,parameter tampering"},
	{"upload", "file upload,unrestricted file upload"}, {"crlf", "crlf injection,header injection"},
	{"hostheader", "host header injection"}, {"ldapi", "ldap injection"}, {"xpathi", "xpath injection"},
	{"deserialization", "deserialization,insecure deserialization,deserialisation,insecure deserialisation,object injection,php object injection"},
	{"webcache", "cache poisoning,web cache poisoning,cache deception,web cache deception"},
	{"inject", "injection,injection flaw,injection vulnerability,fuzz,fuzzing"},
	{"cookies cors debug default-page headers listing status-page tls",
		"misconfiguration,misconfig,misconfigured,security misconfiguration,configuration mistake,configuration error,hardening,configuration issue,configuration problem,configuration weakness,insecure configuration,insecure setting,bad configuration,misconfigured server,configuration flaw,server misconfiguration,configuration review,hardening check"},
}

// products are technologies whose name is their template tag.
const products = `nginx apache wordpress jenkins grafana gitlab tomcat php spring drupal joomla magento confluence jira bitbucket
nexus sonarqube artifactory kibana elasticsearch prometheus kubernetes docker rabbitmq redis mongodb mysql postgresql phpmyadmin
adminer django flask laravel symfony rails struts weblogic websphere jboss wildfly glassfish coldfusion iis exchange sharepoint
citrix fortinet fortigate paloalto sophos sonicwall zimbra roundcube nextcloud owncloud gitea gogs minio consul vault etcd
airflow jupyter solr zabbix nagios cacti splunk traefik haproxy varnish envoy caddy lighttpd jetty openresty nodejs
moodle typo3 prestashop shopify woocommerce opencart ghost strapi keycloak okta vmware vcenter esxi proxmox openshift rancher
harbor portainer hadoop kafka activemq log4j graphql swagger webmin cpanel plesk mikrotik ubiquiti cisco juniper f5 zyxel`

var otherProducts = [][2]string{
	{"spring", "spring boot,springboot,spring framework,spring boot actuator,actuator"}, {"wordpress", "word press,wp"},
	{"apache", "apache httpd,httpd,apache2"}, {"tomcat", "apache tomcat"}, {"struts", "apache struts,struts2"},
	{"php", "php fpm"}, {"nodejs", "node.js,node js"}, {"kubernetes", "k8s,kubelet"},
	{"iis", "microsoft iis,internet information service"},
	{"postgresql", "postgres"}, {"exchange", "microsoft exchange,ms exchange,exchange server,outlook web access,owa"},
	{"sharepoint", "share point"}, {"phpmyadmin", "php my admin,pma"}, {"asp.net", "asp.net,aspnet"},
	{"jupyter", "jupyter notebook,jupyterhub"},
	{"swagger", "swagger ui,openapi"}, {"gitlab", "git lab"}, {"fortinet", "fortios,fortigate vpn"},
	{"paloalto", "palo alto,globalprotect,pan o"},
	{"log4j", "log4j2"}, {"activemq", "apache activemq"}, {"solr", "apache solr"}, {"airflow", "apache airflow"},
	{"rails", "ruby on rails"},
	{"kibana", "elk"}, {"citrix", "netscaler,citrix adc,citrix gateway"}, {"vmware", "vsphere"},
}

var bugs = [][2]string{
	{"CVE-2021-44228", "log4shell,log 4 shell"}, {"CVE-2022-22965", "spring4shell"}, {"CVE-2014-0160", "heartbleed"},
	{"CVE-2014-6271", "shellshock"}, {"CVE-2023-4966", "citrixbleed,citrix bleed"}, {"CVE-2021-34473", "proxyshell"},
	{"CVE-2021-26855", "proxylogon"}, {"CVE-2022-42889", "text4shell"}, {"CVE-2024-6387", "regresshion"},
	{"CVE-2014-3566", "poodle"},
}

const (
	fullChecks    = "full check,full scan,full test,full audit,full assessment,full pentest,full security check,full security scan,full security test,full security audit,full security assessment,scan everything,check everything,test everything,everything,all check,all template,every check,every template,complete check,complete scan,complete audit,complete security check,complete security test,comprehensive scan,comprehensive check,comprehensive test,comprehensive assessment,comprehensive,thorough scan,thorough check,thorough test,thorough,thoroughly,run all,the works,whatever you can find,whatever you find,all vulnerability,all kind of vulnerability,anything you can find,all the check,all the thing,whole nine yard,top to bottom,all test,full blown,in depth,deep scan,full vulnerability scan,full range"
	generalChecks = "pentest,penetration test,penetration testing,pen test,pen testing,pentesting,security test,security testing,security check,security audit,security scan,security assessment,security review,vulnerability scan,vulnerability assessment,vulnerability scanning,vulnerability,vulnerable,vuln,is it secure,secure,how secure,is it safe,safe,assess,assessment,audit,weakness,weak spot,security issue,security problem,security hole,security flaw,security weakness,security vulnerability,security finding,security,hackable,posture,security posture,known vulnerability,known cve,cves,anything bad,anything wrong,attack surface,health check,owasp top 10,owasp,known issue,weak point,problem,issue,risk,hole,flaw,red team,scan it,low hanging fruit"
)

// unsupportedPhrases are keys of refusals and the phrases that ask for what is not done.
var unsupportedPhrases = [][2]string{
	{"exploit", "exploit,exploitation,exploiting,get a shell,reverse shell,gain access,break in,break into,hack into,hack,webshell,web shell,privilege escalation,escalate privilege,exfiltrate,exfiltration,dump the database,steal,take over,pop a shell,rce,remote code execution,execute command,run command,lateral movement,post exploitation,pwn,compromise,weaponize,payload,backdoor,implant,root the box,exfil,dump the db,dump all user,dump credential,download the database,metasploit"},
	{"force", "brute force,bruteforce,brute forcing,bruteforcing,brute,password spraying,password spray,spray password,credential stuffing,crack password,crack the password,guess password,guess the password,dictionary attack,default credential,default password,default login,password guessing,weak password,hydra,common password,try password,password attack"},
	{"dos", "dos,ddos,denial of service,stress test,load test,flood,flooding,take down,take it down,take it offline,bring down,bring it down,crash,overload,knock offline,slowloris,knock it offline,performance test,load testing,stress testing,dos attack,ddos attack"},
	{"destroy", "delete everything,destroy everything,wipe everything,erase everything,delete,drop table,drop the database,destroy,wipe,deface,defacement,ransomware,rm rf,erase,corrupt,sabotage,shut down,shutdown,delete all,overwrite,encrypt the disk,tamper,modify data,drop all table,truncate"},
	{"login", "log in with,login with,login as,log in as,log into,sign in with,sign in as,authenticate,authenticated scan,authenticated test,authenticated,using the credential,behind the login,credential,username,password,with the password,log in,with user,bearer token,session token,oauth,sso,basic auth,use the account,test account"},
	{"code", "source code review,code review,review the code,review the source,static analysis,sast,pull request,source code,review our code,code audit,dependency scan,sca,sbom,git history,semgrep"},
	{"phish", "phish,phishing,phishing campaign,social engineering,vishing,smishing,spear phishing,pretexting"},
	{"ports", "port scan,port scanning,scan port,scan the port,scan all port,open port,all port,top port,nmap,masscan,service discovery,portscan,every port,udp port,listening port,which port,udp,full port range,top 1000 port,top 100 port,port sweep,ping sweep"},
	{"names", "subdomain,subdomain enumeration,enumerate subdomain,find subdomain,subdomain takeover,asset discovery,recon,reconnaissance,osint,dns enumeration,zone transfer,discover host,find host,subfinder,amass,all host under,dns record,whois,enumerate host,vhost,virtual host"},
	{"logic", "business logic,race condition,request smuggling,prototype pollution,authentication bypass,auth bypass"},
	{"guess", "dirb,directory brute force,directory bruteforce,content discovery,dirbust,gobuster,ffuf,wayback,enumerate directory,directory busting,forced browsing,feroxbuster"},
	{"deliver", "email me,e mail me,send me an email,pdf,pdf report,slack,jira,ticket,every day,daily,weekly,every week,every hour,hourly,schedule,monthly,every month,every night,nightly,email the report,mail me,screenshot,telegram,microsoft team,each day,each week,recurring,every morning"},
	{"nonweb", "ftp,smtp,rdp,smb,snmp,ldap,vnc,telnet,imap,pop3,ssh server,ssh,wifi,bluetooth,mobile app,android app,ios app,active directory,cloud account,aws account,s3 bucket,android,ios,apk"},
}

// refusals are the reasons, by key.
var refusals = map[string]string{
	"exploit": "I prove that a weakness is there, but I do not exploit it or take anything: that is refused.",
	"force":   "I do not guess passwords or try credentials, default ones included: that is refused.",
	"dos":     "I do not overload or take down systems: that is refused.",
	"destroy": "I do not change or destroy anything: that is refused.",
	"phish":   "I do not deceive people: phishing and social engineering are refused.",
	"login":   "I do not know how to log in: write it as in “log in as alice with the password secret”, or give a header or a cookie.",
	"code":    "Reviewing source code is not available yet: I test running web sites.",
	"ports":   "Scanning for open ports is not available yet: name the ports, and I will test them.",
	"names":   "Finding subdomains and hosts is not available yet: name the hosts, and I will test them.",
	"logic":   "Flaws of business logic, races and smuggled requests are not tested without a language model.",
	"guess":   "Guessing of paths is not available yet: I request the paths that the checks know, and the pages that the site links to.",
	"deliver": "Schedules, messages and formatted reports are not made from an instruction: set them up on the task.",
	"nonweb":  "Only web servers (HTTP and HTTPS) can be tested yet.",
}

var refusalOrder = []string{"exploit", "force", "dos", "destroy", "phish", "login", "code", "ports", "names", "logic",
	"guess", "deliver", "nonweb"}

// fillers say nothing about the plan.
var fillers = []string{
	"alone,s,re,ll,ve,d,m,t,a,an,the,this,these,those,it,its,i,me,my,we,us,our,you,your,they,them,their,he,she,here,one,some,any,each,every,all,other,such,same,own",
	"is,are,was,were,be,been,being,am,does,did,has,have,had,can,could,will,would,should,may,might,must,shall,wants,needs,like,get,give,got,id,im,ive,hes,thats",
	"and,or,but,nor,so,then,than,as,if,whether,because,since,while,when,where,which,who,what,how,why,not,no,yes,only,just,also,too,even,still,already,very,really,again,once,well,etc,please,pls,kindly,thank,hi,hello,hey,dear,ok,okay,now,today,first,next,finally,especially,particularly,particular,plus,both,either,mainly,mostly,possible,possibly,least,most,more,less,many,few,lot",
	"of,in,on,at,by,for,from,to,with,into,over,under,about,against,after,before,through,up,down,out,off,between,within,during,via,per,around,across,behind,regarding,concerning,upon,onto,without,toward,along,there,everywhere,e.g,i.e,vs,incl",
	"conduct,execute,tell,show,see,know,make,sure,ensure,confirm,start,take,help,do,doing,assert,determine,return,provide,output,let,point,pay,attention,keep,put,handle,quick,quickly,carefully,spot,discover,say,spider,spidering",
	"site,website,web,page,server,host,hostname,domain,url,uri,link,address,ip,network,subnet,range,scope,asset,machine,box,system,app,application,service,instance,endpoint,api,portal,shop,environment,infrastructure,https,www,install,installation,deployment,internet,port,cidr,block,homepage,store,blog,node,device",
	"result,thing,anything,something,nothing,stuff,severity,level,type,kind,way,following,follow,below,above,name,new,old,public,publicly,available,facing,current,live,production,prod,staging,dev,internal,external,local,company,customer,client,team,file,folder,directory,path,setting,flag,set,correct,correctly,proper,properly,missing,enabled,disabled,present,open,allowed,accessible,reachable,visible,valid,weak,insecure,bad,good,right,wrong,affected,patched,outdated,default,detail,information,info,data,summary,evidence,task,instruction,work,part,time,user,people,real,actual,sensitive,simple,basic,general,usual,common,standard,typical,exist,mode,configured",
	"respond,responding,answer,answering,behaviour,behavior,left,leaving,lying,hosted,serving,served,online,second,minute,hour,max,maximum,min,minimum,rate,limit,worse,higher,better,lower,severe",
}

// notHosts are names of products that look like hosts.
var notHosts = exact("asp.net,vb.net,ado.net,ml.net,socket.io,node.js,next.js,vue.js,react.js,express.js,nuxt.js,three.js,d3.js,require.js,backbone.js,moment.js,e.g,i.e,a.k.a,p.s,u.s,u.k")

// fileExtensions are no public suffixes that matter here.
var fileExtensions = exact("php,html,htm,js,mjs,jsx,css,json,xml,gz,tar,tgz,bak,sql,txt,ini,conf,cfg,yml,yaml,env,log,pdf,exe,jsp,aspx,asp,action,old,swp,png,jpg,jpeg,gif,svg,ico,csv,db,sqlite,pem,key,crt,war,jar,doc,docx,xls,xlsx,lock,toml,ts,tsx,map,wsdl,inc,orig,7z,rar,java,properties,htaccess,git,svn,rb,config,dll,bin,iso,pptx,odt,bz2,xz,lst,dist,sample,backup,save,tmp,cgi,phtml,dump")

// twoMeanings are extensions and top-level domains, mostly the former.
var twoMeanings = exact("zip,sh,py,md,mov,ps")

// fileTLDs are top-level domains that are also extensions.
var fileTLDs = exact("zip,sh,py,md,mov,ps,rs,pl,so,cc,do")

// fileNames before one of fileTLDs are certainly files.
var fileNames = exact("backup,index,install,readme,main,setup,config,db,dump,script,run,test,deploy,build,start,site,www,database,archive,old,changelog,contributing,license,manage,settings,exploit,poc,scan,data,html,src,source,code,files,web,public,entrypoint,docker-entrypoint,init,update,upload,export,users,wordpress,wp-content")

// privateSuffixes are not in the public registry.
var privateSuffixes = exact("local,localhost,localdomain,internal,intranet,lan,home,corp,private,test,invalid,example,onion,arpa,svc,cluster,vpn,office")
