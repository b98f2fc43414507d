<?php
// Who has a domain: its name stands in double quotes of a command, and what ends a command is taken out.
$weak = getenv('LAB_VARIANT') === 'weak';
$out = '';
if (isset($_REQUEST['domain'])) {
	$domain = substr(str_replace(["\n", "\r", "\0", ';', '|', '&', '<', '>', '"', '\\'], '', (string) $_REQUEST['domain']), 0, 100);
	$line = $weak ? "printf 'No match for domain %s.\\n' \"$domain\"" : "printf 'No match for domain %s.\\n' " . escapeshellarg($domain);
	$out = '<pre class="whois">' . htmlspecialchars((string) shell_exec("timeout 10 sh -c " . escapeshellarg($line) . ' 2>/dev/null')) . '</pre>';
}
?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>NameWise registrar</title></head><body><div id="page">
<div id="banner">NameWise</div><?= $out ?>
<form action="" method="get"><p><input type="text" name="domain" value="example.org" /> <select name="tld"><option>org</option><option>net</option></select> <input type="submit" value="Whois" /></p></form>
</div></body></html>
