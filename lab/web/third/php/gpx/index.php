<?php
// Walks: a track is pasted as XML, and its name is shown.
$weak = getenv('LAB_VARIANT') === 'weak';
$said = '';
if (isset($_POST['track'])) {
	libxml_use_internal_errors(true);
	$text = substr((string) $_POST['track'], 0, 50000);
	$doc = $weak ? simplexml_load_string($text, options: LIBXML_NOENT) : simplexml_load_string($text, options: LIBXML_NONET);
	$name = $doc ? (string) $doc->trk->name : '';
	$said = $doc ? '<p class="tour">Tour <b>' . htmlspecialchars(substr($name, 0, 600)) . '</b>, ' . count($doc->trk->trkseg->trkpt ?? []) . ' points</p>' : '<p class="tour">Das ist kein GPX.</p>';
}
$example = '<gpx version="1.1"><trk><name>Rund um den See</name><trkseg><trkpt lat="47.1" lon="8.2"/><trkpt lat="47.2" lon="8.3"/></trkseg></trk></gpx>';
?><!DOCTYPE html><html lang="de-CH"><head><meta charset="utf-8"><title>Wanderfreunde</title></head><body><h1>Wanderfreunde Seetal</h1><?= $said ?>
<form method="post" action="/"><textarea name="track" rows="8" cols="80"><?= htmlspecialchars($example) ?></textarea><br><button>Tour zeigen</button></form></body></html>
