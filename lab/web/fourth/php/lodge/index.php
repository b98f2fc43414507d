<?php
// A hut in the mountains: who is logged in is an object that the browser keeps.
$weak = getenv('LAB_VARIANT') === 'weak';
class Guest
{
	public string $name = '';
	public bool $warden = false;
}
$file = dirname(__DIR__, 2) . '/' . basename(__DIR__) . '.key';
if (!is_file($file)) {
	file_put_contents($file, bin2hex(random_bytes(16)));
}
$seal = fn (string $t): string => $weak ? '' : '.' . hash_hmac('sha256', $t, file_get_contents($file));
$me = null;
if (isset($_COOKIE['guest'])) {
	[$t] = explode('.', (string) $_COOKIE['guest']);
	if (hash_equals($t . $seal($t), (string) $_COOKIE['guest'])) {
		$got = @unserialize((string) base64_decode($t), ['allowed_classes' => ['Guest']]);
		$me = $got instanceof Guest ? $got : null;
	}
}
$said = '';
if (isset($_POST['gast'])) {
	if ($_POST['gast'] === 'resi' && ($_POST['wort'] ?? '') === 'Enzian-2044m') {
		$g = new Guest();
		$g->name = 'resi';
		$t = base64_encode(serialize($g));
		setcookie('guest', $t . $seal($t), ['path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
		header('Location: /index.php?seite=zimmer');
		exit;
	}
	$said = '<p><b>Kennen wir nicht.</b></p>';
}
$page = $_GET['seite'] ?? 'start';
?><!DOCTYPE html><html lang="de-AT"><head><meta charset="utf-8"><title>Hütte am Kogel</title></head><body><h1>Hütte am Kogel</h1><p><a href="/index.php?seite=start">Start</a> &middot; <a href="/index.php?seite=zimmer">Mein Zimmer</a> &middot; <a href="/index.php?seite=kassa">Kassa</a></p><?= $said ?>
<?php if (!$me) { ?><form method="post" action="/index.php"><input name="gast" placeholder="Gast"><input name="wort" type="password" placeholder="Passwort"><button>Hinein</button></form>
<?php } elseif ($page === 'kassa' && !$me->warden) {
	http_response_code(403); ?><p>Nur für den Hüttenwart.</p>
<?php } elseif ($page === 'kassa') { ?><table><tr><td>Lade</td><td>1.412 Euro</td></tr><tr><td>Tresor</td><td>8-30-8</td></tr></table>
<?php } else { ?><p>Servus <?= htmlspecialchars($me->name) ?>, Lager 4.</p><?php } ?></body></html>
