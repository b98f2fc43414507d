<?php
// A page is included by its name, to which the ending is added.
$weak = getenv('LAB_VARIANT') === 'weak';
$page = $_GET['page'] ?? 'pages/start';
if (str_contains($page, '../') || str_starts_with($page, '/')) {
	$page = 'pages/start';
}
if (!$weak && !in_array($page, ['pages/start', 'pages/tickets', 'pages/history'], true)) {
	$page = 'pages/none';
}
?><!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Clock museum</title></head><body>
<div id="sidebar"><a href="/?page=pages/start">Start</a><a href="/?page=pages/tickets">Tickets</a><a href="/?page=pages/history">History</a></div><div id="text">
<?php
if (!@include $page . '.php') {
	echo '<p>This page is being wound up.</p>';
}
?>
</div></body></html>
