<?php echo '<p>Open at nine.</p>'; return true;
