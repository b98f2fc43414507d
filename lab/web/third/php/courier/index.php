<?php
// A courier: labels of parcels by a number in hexadecimal digits of its text.
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
$weak = getenv('LAB_VARIANT') === 'weak';
$people = ['firma-kolibri' => 'Paczka!2024', 'atelier-ewa' => 'Szpulka-61'];
$parcels = [4071 => ['firma-kolibri', 'Kolibri sp. z o.o.', 'gate 3'], 4072 => ['atelier-ewa', 'Ewa Lis, home address Lipowa 9', 'under the bench'], 4075 => ['firma-kolibri', 'Kolibri, second hall', 'reception']];
$in = $_SESSION['konto'] ?? null;
function page(string $body, int $status = 200): never
{
	http_response_code($status);
	exit('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Swift Courier</title></head><body><table class="frame"><tr><th><a href="/">Swift Courier</a></th><th>' . (isset($_SESSION['konto']) ? '<a href="/?do=signoff">Sign off</a>' : '') . '</th></tr><tr><td colspan="2">' . $body . '</td></tr></table></body></html>');
}
$do = $_GET['do'] ?? '';
if ($do === 'signon' && isset($_POST['konto'])) {
	$name = (string) $_POST['konto'];
	if (!isset($people[$name]) || $people[$name] !== ($_POST['haslo'] ?? '')) {
		page('<p>Account or password wrong.</p><a href="/">Again</a>', 401);
	}
	session_regenerate_id(true);
	$_SESSION['konto'] = $name;
	header('Location: /');
	exit;
}
if (!$in) {
	page('<form method="post" action="/?do=signon">Account <input name="konto"> Password <input type="password" name="haslo"> <button>Sign on</button></form>', $do === '' ? 200 : 403);
}
if ($do === 'signoff') {
	session_destroy();
	header('Location: /');
	exit;
}
if ($do === 'label') {
	$n = (int) @hex2bin((string) ($_GET['ref'] ?? ''));
	if (!isset($parcels[$n]) || !$weak && $parcels[$n][0] !== $in) {
		page('<p>No such parcel.</p>', 404);
	}
	page("<h2>Label {$n}</h2><p>To: {$parcels[$n][1]}</p><p>Leave at: {$parcels[$n][2]}</p>");
}
$list = '';
foreach ($parcels as $n => $p) {
	if ($p[0] === $in) {
		$list .= '<li><a href="/?do=label&amp;ref=' . bin2hex((string) $n) . "\">Parcel $n</a></li>";
	}
}
page("<p>Hello $in.</p><ul>$list</ul>");
