<?php
// A catalogue of seeds: the view of a list (its order, its length) is an object in the address.
class View
{
	public string $order = 'name';
	public int $rows = 5;
}
class Banner
{
	public string $source = 'banner.txt';

	public function __destruct()
	{
		echo '<div class="banner">', htmlspecialchars(substr((string) @file_get_contents($this->source), 0, 300)), '</div>';
	}
}
$weak = getenv('LAB_VARIANT') === 'weak';
$view = new View();
if (isset($_GET['view'])) {
	$got = @unserialize((string) $_GET['view'], ['allowed_classes' => $weak ? true : ['View']]);
	if ($got instanceof View) {
		$view = $got;
	}
}
$seeds = ['Aster' => 2.1, 'Borage' => 1.8, 'Cosmos' => 2.4, 'Dill' => 0.9, 'Fennel' => 1.1, 'Lupin' => 3.0];
$view->order === 'price' ? asort($seeds) : ksort($seeds);
$by = new View();
$by->order = 'price';
$short = new View();
$short->rows = 3;
?><!DOCTYPE html><html lang="en"><head><title>Seed catalogue</title></head><body><h1>Seeds, <?= $view->order === 'price' ? 'by price' : 'by name' ?></h1>
<p><a href="/?view=<?= urlencode(serialize($by)) ?>">by price</a> <a href="/?view=<?= urlencode(serialize($short)) ?>">only three</a></p><table>
<?php foreach (array_slice($seeds, 0, max(1, min(6, $view->rows))) as $name => $price) { echo "<tr><td>$name</td><td>$price</td></tr>"; } ?>
</table></body></html>
