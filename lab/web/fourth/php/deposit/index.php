<?php
// A savings bank: whose account a statement is of stands in the form that asks for it.
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
$weak = getenv('LAB_VARIANT') === 'weak';
$accounts = ['100231' => ['giannis', 'Μισθός 1.210, ενοίκιο -480'], '100232' => ['eleni', 'Νοσοκομείο -2.300, δάνειο 5.000'], '100234' => ['giannis', 'Αποταμίευση 90']];
$people = ['giannis' => 'Drachmi-71', 'eleni' => 'Obolos-72'];
function page(string $body, int $status = 200): never
{
	http_response_code($status);
	exit('<!DOCTYPE html><html lang="el"><head><meta charset="utf-8"><title>Ταμιευτήριο</title></head><body><div id="wrapper"><div id="header"><a href="/">Ταμιευτήριο</a></div><div id="content">' . $body . '</div></div></body></html>');
}
if (isset($_POST['onoma'])) {
	$name = (string) $_POST['onoma'];
	if (!isset($people[$name]) || $people[$name] !== ($_POST['kodikos'] ?? '')) {
		page('<p class="error">Λάθος στοιχεία.</p>', 401);
	}
	session_regenerate_id(true);
	$_SESSION['onoma'] = $name;
	header('Location: /');
	exit;
}
if (isset($_GET['exodos'])) {
	session_destroy();
	header('Location: /');
	exit;
}
$me = $_SESSION['onoma'] ?? null;
if ($me === null) {
	page('<form method="post" action="/"><input name="onoma" placeholder="Όνομα"><input name="kodikos" type="password" placeholder="Κωδικός"><input type="submit" value="Είσοδος"></form>');
}
if (isset($_POST['logariasmos'])) {
	$a = $accounts[(string) $_POST['logariasmos']] ?? null;
	if (!$a || !$weak && $a[0] !== $me) {
		page('<p class="error">Δεν υπάρχει.</p>', 404);
	}
	page("<h2>{$a[0]}</h2><p>{$a[1]}</p><a href=\"/\">Πίσω</a>");
}
$options = '';
foreach ($accounts as $n => $a) {
	$options .= $a[0] === $me ? "<option value=\"$n\">$n</option>" : '';
}
page("<p>Γεια σας $me. <a href=\"/?exodos=1\">Έξοδος</a></p><form method=\"post\" action=\"/index.php\"><select name=\"logariasmos\">$options</select><input type=\"hidden\" name=\"minas\" value=\"5\"><input type=\"submit\" value=\"Κίνηση\"></form>");
