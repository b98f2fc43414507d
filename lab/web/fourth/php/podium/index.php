<?php
// Results of races come as a file of XML; one word of its entities is refused.
$weak = getenv('LAB_VARIANT') === 'weak';
$said = '';
if (is_uploaded_file($_FILES['results']['tmp_name'] ?? '')) {
	$text = (string) file_get_contents($_FILES['results']['tmp_name'], false, null, 0, 50000);
	libxml_use_internal_errors(true);
	if (str_contains($text, 'SYSTEM') || !$weak && stripos($text, '<!DOCTYPE') !== false) {
		$said = '<div class="flash">This file was refused.</div>';
	} else {
		$doc = new DOMDocument();
		if ($doc->loadXML($text, $weak ? LIBXML_NOENT : LIBXML_NONET)) {
			$said = '<ol>';
			foreach ($doc->getElementsByTagName('runner') as $r) {
				$said .= '<li>' . htmlspecialchars(substr($r->textContent, 0, 2000)) . '</li>';
			}
			$said .= '</ol>';
		} else {
			$said = '<div class="flash">Line ' . (libxml_get_errors()[0]->line ?? 1) . ' is not XML.</div>';
		}
	}
}
?><!DOCTYPE html><html lang="en-AU"><head><meta charset="utf-8"><title>Podium timing</title></head><body><h1>Podium timing</h1><?= $said ?>
<form method="post" action="/" enctype="multipart/form-data"><p>Results (.xml): <input type="file" name="results" accept=".xml"></p><p><input type="submit" value="Publish"></p></form>
<pre>&lt;results&gt;&lt;runner&gt;Kim&lt;/runner&gt;&lt;runner&gt;Alex&lt;/runner&gt;&lt;/results&gt;</pre></body></html>
